/**
 * Spans on disk: append-only segment files in a directory of this process's own, read back in order and deleted when
 * all of a segment has arrived. What was written survives the end of the process, in whatever way it ends: it is in
 * the operating system's hands when `write` returns. Nothing is deleted before it has arrived, so after a crash some
 * spans are sent twice; stores know a span by its id.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { randomHex } from "../internal/ids.ts";
import { laneKey } from "./queue.ts";
import { decodeSegment, encodeRecord, isWritable, SEGMENT_MAGIC, type SpoolRecord } from "./spool-format.ts";
import {
  freeName,
  type Identity,
  identityOf,
  isOrphan,
  ownName,
  type SpoolSystem,
  spoolSystem,
} from "./spool-owner.ts";

/** Records of one attempt. */
export interface RecordCount {
  rolloutId: string;
  attemptId: string;
  count: number;
}

interface Segment {
  path: string;
  bytes: number;
  /** Records that were not read yet, by attempt. */
  unread: Map<string, RecordCount>;
  /** Records that were read and are not done. */
  open: number;
  exhausted: boolean;
}

/** A record that was read back. */
export interface SpooledSpan extends SpoolRecord {
  readonly segment: Segment;
}

/** What {@link Spool.read} found. */
export interface SpoolPage {
  records: SpooledSpan[];
  /** Records that were written and cannot be read any more. */
  lost: RecordCount[];
}

/** Spans on disk. */
export interface Spool {
  /** Bytes on disk. */
  readonly bytes: number;
  /** Whether there is something that {@link Spool.read} has not given yet. */
  readonly hasUnread: boolean;
  /** Appends records. False, and nothing written, when the disk or the bound does not allow it. */
  write(records: readonly SpoolRecord[]): boolean;
  /** Like {@link Spool.write}, but ahead of all that was not read yet. */
  writeFirst(records: readonly SpoolRecord[]): boolean;
  /** The next segment's records. */
  read(): SpoolPage;
  /** A record that was read has arrived, or was given up. */
  done(record: SpooledSpan): void;
  /** Takes over what dead processes left, and gives what it holds. */
  adopt(): RecordCount[];
  /** Gives what is left free for other processes. */
  close(): void;
}

/** Options of {@link openSpool}. */
export interface SpoolOptions {
  directory: string;
  /** Spans of one destination are never sent to another. */
  destination: string;
  maxBytes: number;
  segmentBytes: number;
  now: () => number;
  /** Told of faults of the disk. */
  onFault: (message: string, cause: unknown) => void;
}

const SEGMENT_NAME = /^(\d{10})\.spool$/;
const FIRST_ORDINAL = 1_000_000_000;

/** A short name for a destination, of letters and digits (FNV-1a). */
function shortName(text: string): string {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) as number), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

function tally(into: Map<string, RecordCount>, record: SpoolRecord, by: 1 | -1): boolean {
  const key = laneKey(record.rolloutId, record.attemptId);
  const entry = into.get(key);
  if (entry === undefined) {
    if (by < 0) return false;
    into.set(key, { rolloutId: record.rolloutId, attemptId: record.attemptId, count: 1 });
    return true;
  }
  entry.count += by;
  if (entry.count === 0) into.delete(key);
  return true;
}

class DiskSpool implements Spool {
  bytes = 0;
  readonly #system: SpoolSystem;
  readonly #options: SpoolOptions;
  readonly #destination: string;
  /** Where this process writes; made with the first segment. */
  #directory: string | undefined;
  /** Directories that were taken over, and are ours by name. */
  readonly #adopted = new Map<string, Identity>();
  /** Unread segments, in order. */
  #segments: Segment[] = [];
  #writing: { segment: Segment; fd: number } | undefined;
  #next = FIRST_ORDINAL;
  #before = FIRST_ORDINAL;

  constructor(system: SpoolSystem, options: SpoolOptions) {
    this.#system = system;
    this.#options = options;
    this.#destination = shortName(options.destination);
    system.fs.mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    system.fs.accessSync(options.directory, system.fs.constants.W_OK);
  }

  get hasUnread(): boolean {
    return this.#segments.length > 0;
  }

  #pathOf(name: string): string {
    return this.#system.path.join(this.#options.directory, name);
  }

  #newIdentity(): Identity {
    // After all that was taken over, whatever the clocks say: the same attempt may go on here.
    const eldest = Math.max(0, ...[...this.#adopted.values()].map(({ born }) => born + 1));
    const born = Math.max(Math.floor(this.#options.now()), eldest);
    return { destination: this.#destination, born, unique: randomHex(6) };
  }

  #open(ordinal: number): { segment: Segment; fd: number } {
    const { fs } = this.#system;
    // Made here and not before: a process that spools nothing leaves nothing behind.
    this.#directory ??= this.#pathOf(ownName(this.#system, this.#newIdentity()));
    fs.mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const path = this.#system.path.join(this.#directory, `${String(ordinal).padStart(10, "0")}.spool`);
    const fd = fs.openSync(path, "wx", 0o600);
    fs.writeSync(fd, SEGMENT_MAGIC);
    this.bytes += SEGMENT_MAGIC.length;
    return {
      segment: { path, bytes: SEGMENT_MAGIC.length, unread: new Map(), open: 0, exhausted: false },
      fd,
    };
  }

  #append(to: { segment: Segment; fd: number }, records: readonly SpoolRecord[], chunk: Uint8Array): void {
    const { fs } = this.#system;
    try {
      for (let done = 0; done < chunk.length; ) done += fs.writeSync(to.fd, chunk, done);
    } catch (error) {
      fs.ftruncateSync(to.fd, to.segment.bytes);
      throw error;
    }
    to.segment.bytes += chunk.length;
    this.bytes += chunk.length;
    for (const record of records) tally(to.segment.unread, record, 1);
  }

  #encode(records: readonly SpoolRecord[]): Uint8Array | undefined {
    if (!records.every(isWritable)) return undefined;
    const chunk = Buffer.concat(records.map(encodeRecord));
    return this.bytes + chunk.length > this.#options.maxBytes ? undefined : chunk;
  }

  #closeWriting(): void {
    if (this.#writing === undefined) return;
    const { fd } = this.#writing;
    this.#writing = undefined;
    this.#system.fs.closeSync(fd);
  }

  write(records: readonly SpoolRecord[]): boolean {
    try {
      const chunk = this.#encode(records);
      if (chunk === undefined) return false;
      if (
        this.#writing !== undefined &&
        this.#writing.segment.bytes + chunk.length > this.#options.segmentBytes
      ) {
        this.#closeWriting();
      }
      if (this.#writing === undefined) {
        this.#writing = this.#open(this.#next++);
        this.#segments.push(this.#writing.segment);
      }
      this.#append(this.#writing, records, chunk);
      return true;
    } catch (error) {
      this.#options.onFault("spans could not be written to the spool", error);
      this.#guard(() => this.#closeWriting());
      return false;
    }
  }

  writeFirst(records: readonly SpoolRecord[]): boolean {
    try {
      const chunk = this.#encode(records);
      if (chunk === undefined) return false;
      const opened = this.#open(--this.#before);
      try {
        this.#append(opened, records, chunk);
        this.#segments.unshift(opened.segment);
      } finally {
        this.#system.fs.closeSync(opened.fd);
      }
      return true;
    } catch (error) {
      this.#options.onFault("spans could not be written to the spool", error);
      return false;
    }
  }

  read(): SpoolPage {
    const segment = this.#segments.shift();
    if (segment === undefined) return { records: [], lost: [] };
    const records: SpooledSpan[] = [];
    this.#guard(() => {
      // A segment is read only when nothing more is written to it.
      if (this.#writing?.segment === segment) this.#closeWriting();
      for (const record of decodeSegment(this.#system.fs.readFileSync(segment.path))) {
        if (tally(segment.unread, record, -1)) records.push({ ...record, segment });
      }
    });
    segment.open = records.length;
    segment.exhausted = true;
    const lost = [...segment.unread.values()];
    segment.unread.clear();
    this.#deleteIfDone(segment);
    return { records, lost };
  }

  done(record: SpooledSpan): void {
    record.segment.open -= 1;
    this.#deleteIfDone(record.segment);
  }

  #deleteIfDone(segment: Segment): void {
    if (!segment.exhausted || segment.open > 0) return;
    this.bytes -= segment.bytes;
    this.#guard(() => this.#system.fs.rmSync(segment.path, { force: true }));
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.onFault("the spool could not be read or tidied", error);
    }
  }

  adopt(): RecordCount[] {
    const { fs } = this.#system;
    const found = new Map<string, RecordCount>();
    const taken: Segment[] = [];
    this.#guard(() => {
      const now = new Date(this.#options.now());
      for (const own of this.#own()) fs.utimesSync(own, now, now);
      const names = fs
        .readdirSync(this.#options.directory)
        .sort((a, b) => identityOf(a).born - identityOf(b).born);
      for (const name of names) {
        const from = this.#pathOf(name);
        const touched = fs.statSync(from, { throwIfNoEntry: false })?.mtimeMs;
        if (touched === undefined || from === this.#directory || this.#adopted.has(from)) continue;
        if (!isOrphan(this.#system, name, this.#destination, touched, this.#options.now())) continue;
        const identity = identityOf(name);
        const to = this.#pathOf(ownName(this.#system, identity));
        try {
          fs.renameSync(from, to);
        } catch {
          continue; // Another process was faster.
        }
        const segments = this.#scan(to, found);
        if (segments.length === 0) fs.rmSync(to, { recursive: true });
        else this.#adopted.set(to, identity);
        taken.push(...segments);
      }
    });
    // What is older goes first.
    this.#segments.unshift(...taken);
    return [...found.values()];
  }

  /** Directories of ours that are on disk. */
  #own(): string[] {
    const all = [...this.#adopted.keys(), ...(this.#directory === undefined ? [] : [this.#directory])];
    return all.filter((directory) => this.#system.fs.existsSync(directory));
  }

  #scan(directory: string, found: Map<string, RecordCount>): Segment[] {
    const { fs, path } = this.#system;
    const segments: Segment[] = [];
    for (const name of fs.readdirSync(directory).sort()) {
      if (!SEGMENT_NAME.test(name)) continue;
      const file = path.join(directory, name);
      const content = fs.readFileSync(file);
      const segment: Segment = {
        path: file,
        bytes: content.length,
        unread: new Map(),
        open: 0,
        exhausted: false,
      };
      for (const record of decodeSegment(content, false)) {
        tally(segment.unread, record, 1);
        tally(found, record, 1);
      }
      this.bytes += content.length;
      segments.push(segment);
    }
    return segments;
  }

  close(): void {
    const { fs, path } = this.#system;
    this.#guard(() => this.#closeWriting());
    for (const directory of this.#own()) {
      this.#guard(() => {
        if (fs.readdirSync(directory).length === 0) fs.rmdirSync(directory);
        else fs.renameSync(directory, this.#pathOf(freeName(identityOf(path.basename(directory)))));
      });
    }
    this.#segments = [];
  }
}

/**
 * Opens the spool in `directory`, which is made if it is not there.
 *
 * @throws AglError `unsupported` without a file system, `invalid_argument` where the directory cannot be written to
 */
export function openSpool(options: SpoolOptions): Spool {
  const system = spoolSystem();
  if (system === undefined) {
    throw new AglError(
      "unsupported",
      "spoolDirectory needs a runtime with node:fs; leave the option out here",
    );
  }
  try {
    return new DiskSpool(system, options);
  } catch (cause) {
    throw new AglError(
      "invalid_argument",
      `spoolDirectory ${JSON.stringify(options.directory)} cannot be written to; name a directory that can`,
      { cause },
    );
  }
}
