/**
 * OTLP's trace messages as a generated codec sees them: the second opinion on our own decoder.
 *
 * @module
 */
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/** Field: number, type (a capital letter starts a message's name), `[]` when repeated. */
const MESSAGES: Record<string, Record<string, [number, string]>> = {
  AnyValue: {
    stringValue: [1, "string"],
    boolValue: [2, "bool"],
    intValue: [3, "int64"],
    doubleValue: [4, "double"],
    arrayValue: [5, "ArrayValue"],
    kvlistValue: [6, "KeyValueList"],
    bytesValue: [7, "bytes"],
  },
  ArrayValue: { values: [1, "AnyValue[]"] },
  KeyValueList: { values: [1, "KeyValue[]"] },
  KeyValue: { key: [1, "string"], value: [2, "AnyValue"] },
  Resource: { attributes: [1, "KeyValue[]"], droppedAttributesCount: [2, "uint32"] },
  InstrumentationScope: { name: [1, "string"], version: [2, "string"], attributes: [3, "KeyValue[]"] },
  Event: {
    timeUnixNano: [1, "fixed64"],
    name: [2, "string"],
    attributes: [3, "KeyValue[]"],
    droppedAttributesCount: [4, "uint32"],
  },
  Link: {
    traceId: [1, "bytes"],
    spanId: [2, "bytes"],
    traceState: [3, "string"],
    attributes: [4, "KeyValue[]"],
    flags: [6, "fixed32"],
  },
  Status: { message: [2, "string"], code: [3, "int32"] },
  Span: {
    traceId: [1, "bytes"],
    spanId: [2, "bytes"],
    traceState: [3, "string"],
    parentSpanId: [4, "bytes"],
    name: [5, "string"],
    kind: [6, "int32"],
    startTimeUnixNano: [7, "fixed64"],
    endTimeUnixNano: [8, "fixed64"],
    attributes: [9, "KeyValue[]"],
    droppedAttributesCount: [10, "uint32"],
    events: [11, "Event[]"],
    droppedEventsCount: [12, "uint32"],
    links: [13, "Link[]"],
    droppedLinksCount: [14, "uint32"],
    status: [15, "Status"],
    flags: [16, "fixed32"],
  },
  ScopeSpans: { scope: [1, "InstrumentationScope"], spans: [2, "Span[]"], schemaUrl: [3, "string"] },
  ResourceSpans: { resource: [1, "Resource"], scopeSpans: [2, "ScopeSpans[]"], schemaUrl: [3, "string"] },
  ExportTraceServiceRequest: { resourceSpans: [1, "ResourceSpans[]"] },
  PartialSuccess: { rejectedSpans: [1, "int64"], errorMessage: [2, "string"] },
  ExportTraceServiceResponse: { partialSuccess: [1, "PartialSuccess"] },
  RpcStatus: { code: [1, "int32"], message: [2, "string"] },
};

const SCALARS: Record<string, Type> = {
  string: Type.STRING,
  bool: Type.BOOL,
  int64: Type.INT64,
  int32: Type.INT32,
  uint32: Type.UINT32,
  double: Type.DOUBLE,
  bytes: Type.BYTES,
  fixed64: Type.FIXED64,
  fixed32: Type.FIXED32,
};

function field(owner: string, name: string, [number, type]: [number, string]) {
  const base = type.replace("[]", "");
  const scalar = SCALARS[base];
  return create(FieldDescriptorProtoSchema, {
    name,
    jsonName: name,
    number,
    label: type.endsWith("[]") ? Label.REPEATED : Label.OPTIONAL,
    ...(scalar === undefined ? { type: Type.MESSAGE, typeName: `.otlp.${base}` } : { type: scalar }),
    ...(owner === "AnyValue" && { oneofIndex: 0 }),
  });
}

const file = create(FileDescriptorProtoSchema, {
  name: "otlp.proto",
  package: "otlp",
  syntax: "proto3",
  messageType: Object.entries(MESSAGES).map(([name, fields]) => ({
    name,
    field: Object.entries(fields).map(([key, spec]) => field(name, key, spec)),
    oneofDecl: name === "AnyValue" ? [{ name: "value" }] : [],
  })),
});
const registry = createFileRegistry(file, () => undefined);

function schemaOf(name: string): DescMessage {
  return registry.getMessage(`otlp.${name}`) as DescMessage;
}

/** A message's bytes by the generated encoder. */
export function oracleEncode(name: string, value: object): Uint8Array {
  return toBinary(schemaOf(name), create(schemaOf(name), value as never));
}

/**
 * Bytes as a message by the generated decoder.
 *
 * A known field of another wire type is an unknown field (protobuf's encoding guide; what its own C++ and Go decoders do),
 * but this decoder reads such a field as if its type fitted. Those fields are taken out beforehand.
 *
 * @throws Error for bytes that are no such message.
 */
export function oracleDecode(name: string, bytes: Uint8Array): Message & Record<string, unknown> {
  return fromBinary(schemaOf(name), withoutMisfits(schemaOf(name), bytes)) as Message &
    Record<string, unknown>;
}

function withoutMisfits(schema: DescMessage, bytes: Uint8Array): Uint8Array {
  const reader = new BinaryReader(bytes);
  const writer = new BinaryWriter();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const known = schema.fields.find((each) => each.number === number);
    const message = known?.message;
    if (known !== undefined && wireType !== wireTypeOf(known)) reader.skip(wireType, number);
    else if (message !== undefined)
      writer.tag(number, wireType).bytes(withoutMisfits(message, reader.bytes()));
    else writer.tag(number, wireType).raw(reader.skip(wireType, number));
  }
  return writer.finish();
}

function wireTypeOf(known: DescField): WireType {
  switch (known.scalar) {
    case ScalarType.INT64:
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.BOOL:
      return WireType.Varint;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
      return WireType.Bit64;
    case ScalarType.FIXED32:
      return WireType.Bit32;
    default:
      return WireType.LengthDelimited;
  }
}
