import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSpool, type Spool, type SpoolOptions } from "../../src/export/spool.ts";
import type { SpoolRecord } from "../../src/export/spool-format.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let faults: string[];
beforeEach(() => {
  directory = temporaryDirectory();
  faults = [];
});
afterEach(() => directory[Symbol.dispose]());

function open(options: Partial<SpoolOptions> = {}): Spool {
  return openSpool({
    directory: directory.path,
    destination: "http://store",
    maxBytes: 1_000_000,
    segmentBytes: 10_000,
    now: Date.now,
    onFault: (message) => faults.push(message),
    ...options,
  });
}

const record = (text: string, rolloutId = "ro"): SpoolRecord => ({
  rolloutId,
  attemptId: "at",
  body: new TextEncoder().encode(text),
});
const textOf = ({ body }: SpoolRecord) => new TextDecoder().decode(body);

/** Everything in the spool, in order, each record done with as it is read. */
function drain(spool: Spool): string[] {
  const texts: string[] = [];
  while (spool.hasUnread) {
    for (const one of spool.read().records) {
      texts.push(textOf(one));
      spool.done(one);
    }
  }
  return texts;
}

describe("what is written", () => {
  it("comes back in order, and is deleted when all of it is done", () => {
    const spool = open();
    expect(spool.write([record("a"), record("b", "other")])).toBe(true);
    expect(spool.write([record("c")])).toBe(true);
    expect(directory.files()).toHaveLength(1);
    const { records, lost } = spool.read();
    expect(records.map((one) => [one.rolloutId, textOf(one)])).toEqual([
      ["ro", "a"],
      ["other", "b"],
      ["ro", "c"],
    ]);
    expect(lost).toEqual([]);
    expect(spool.hasUnread).toBe(false);
    for (const one of records.slice(0, 2)) spool.done(one);
    expect(directory.files()).toHaveLength(1);
    spool.done(records[2]!);
    expect(directory.files()).toEqual([]);
    expect(spool.bytes).toBe(0);
  });

  it("goes on while earlier things are read", () => {
    const spool = open();
    spool.write([record("a")]);
    const first = spool.read();
    spool.write([record("b")]);
    expect(first.records.map(textOf)).toEqual(["a"]);
    expect(drain(spool)).toEqual(["b"]);
  });

  it("is cut into segments", () => {
    const spool = open({ segmentBytes: 100 });
    const texts = Array.from({ length: 20 }, (_, i) => `record ${i} ${"x".repeat(20)}`);
    for (const text of texts) spool.write([record(text)]);
    expect(directory.files().length).toBe(10);
    expect(drain(spool)).toEqual(texts);
    expect(directory.files()).toEqual([]);
  });

  it("ahead comes back first", () => {
    const spool = open();
    spool.write([record("b")]);
    expect(spool.writeFirst([record("a")])).toBe(true);
    spool.write([record("c")]);
    expect(drain(spool)).toEqual(["a", "b", "c"]);
  });

  it("is for the user's eyes only", () => {
    open().write([record("a")]);
    const [name] = readdirSync(directory.path);
    const own = join(directory.path, name as string);
    expect(statSync(own).mode & 0o777).toBe(0o700);
    expect(statSync(join(own, readdirSync(own)[0] as string)).mode & 0o777).toBe(0o600);
  });

  it("keeps within the bound, as a whole or not at all", () => {
    const spool = open({ maxBytes: 300 });
    expect(spool.write([record("x".repeat(200))])).toBe(true);
    expect(spool.write([record("y"), record("x".repeat(200))])).toBe(false);
    expect(spool.write([record("z")])).toBe(true);
    expect(drain(spool).map((text) => text[0])).toEqual(["x", "z"]);
    expect(spool.write([record("x".repeat(200))])).toBe(true);
  });

  it("is refused where an id is too long for the format", () => {
    expect(open().write([record("a", "r".repeat(70_000))])).toBe(false);
  });
});

describe("damage", () => {
  const segmentFile = () => {
    const own = join(directory.path, readdirSync(directory.path)[0] as string);
    return join(own, readdirSync(own)[0] as string);
  };

  it("of one record costs that one, and is told", () => {
    const spool = open();
    spool.write([record("aaaa"), record("bbbb"), record("cccc", "other")]);
    const bytes = readFileSync(segmentFile());
    bytes[bytes.indexOf("bbbb")] = 0;
    writeFileSync(segmentFile(), bytes);
    const { records, lost } = spool.read();
    expect(records.map(textOf)).toEqual(["aaaa", "cccc"]);
    expect(lost).toEqual([{ rolloutId: "ro", attemptId: "at", count: 1 }]);
  });

  it("of a whole segment is told, and the next is read", () => {
    const spool = open({ segmentBytes: 20 });
    spool.write([record("aaaa")]);
    renameSync(segmentFile(), `${segmentFile()}.gone`);
    spool.write([record("bbbb")]);
    expect(spool.read()).toEqual({ records: [], lost: [{ rolloutId: "ro", attemptId: "at", count: 1 }] });
    expect(faults).toHaveLength(1);
    expect(drain(spool)).toEqual(["bbbb"]);
  });

  it("of the directory makes writes fail, not throw", () => {
    const spool = open();
    directory[Symbol.dispose]();
    writeFileSync(directory.path, "in the way");
    expect(spool.write([record("a")])).toBe(false);
    expect(spool.writeFirst([record("a")])).toBe(false);
    expect(faults).toHaveLength(2);
    expect(spool.adopt()).toEqual([]);
    spool.close();
  });

  it("leaves out the torn end of what a killed process wrote", () => {
    const dead = open();
    dead.write([record("a"), record("b")]);
    appendFileSync(segmentFile(), new Uint8Array([50, 0, 0, 0, 1, 2, 3, 4, 5]));
    dead.close();
    const spool = open();
    expect(spool.adopt()).toEqual([{ rolloutId: "ro", attemptId: "at", count: 2 }]);
    expect(drain(spool)).toEqual(["a", "b"]);
    expect(directory.files()).toEqual([]);
  });
});

describe("taking over", () => {
  /** Renames the only directory in the spool, as if another process owned it. */
  function giveTo(host: string, pid: number, start: string): string {
    const [name] = readdirSync(directory.path);
    const parts = (name as string).split("~");
    const to = [parts[0], parts[1], host, pid, start, parts[5], "taken"].join("~");
    renameSync(join(directory.path, name as string), join(directory.path, to));
    return to;
  }
  const leave = (text: string, options: Partial<SpoolOptions> = {}) => open(options).write([record(text)]);
  const deadPid = () =>
    Number(execFileSync(process.execPath, ["-e", "console.log(process.pid)"], { encoding: "utf8" }));

  it("finds what a closed spool left, and what it leaves again is found", () => {
    const first = open();
    first.write([record("a")]);
    first.close();
    const second = open();
    expect(second.adopt()).toEqual([{ rolloutId: "ro", attemptId: "at", count: 1 }]);
    second.close();
    const third = open();
    third.write([record("b")]);
    expect(third.adopt()).toEqual([{ rolloutId: "ro", attemptId: "at", count: 1 }]);
    // What is older goes first.
    expect(drain(third)).toEqual(["a", "b"]);
    third.close();
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it("finds what a dead process left", () => {
    leave("a");
    giveTo(hostname(), deadPid(), "1");
    const spool = open();
    expect(spool.adopt()).toHaveLength(1);
    expect(drain(spool)).toEqual(["a"]);
  });

  it("finds what a process left whose number is in use again", () => {
    leave("a");
    giveTo(hostname(), process.pid, "1");
    expect(open().adopt()).toHaveLength(1);
  });

  it("leaves alone what belongs to a living process, this one included", () => {
    const spool = open();
    spool.write([record("a")]);
    expect(open().adopt()).toEqual([]);
    expect(drain(spool)).toEqual(["a"]);
  });

  it("leaves another machine's alone until it was not touched for five minutes", () => {
    leave("a");
    const name = giveTo("elsewhere", 1, "1");
    const spool = open();
    expect(spool.adopt()).toEqual([]);
    const old = new Date(Date.now() - 301_000);
    utimesSync(join(directory.path, name), old, old);
    expect(spool.adopt()).toHaveLength(1);
  });

  it("marks its own directory as in use", () => {
    let now = Date.now();
    const spool = open({ now: () => now });
    spool.write([record("a")]);
    now += 3_600_000;
    spool.adopt();
    const [name] = readdirSync(directory.path);
    expect(statSync(join(directory.path, name as string)).mtimeMs).toBeGreaterThan(now - 1_000);
  });

  it("takes nothing of another destination, and nothing that is not a spool", () => {
    leave("a", { destination: "http://other" });
    giveTo(hostname(), deadPid(), "1");
    mkdirSync(join(directory.path, "photos"));
    writeFileSync(join(directory.path, "note.txt"), "hello");
    expect(open().adopt()).toEqual([]);
    expect(readdirSync(directory.path)).toContain("photos");
  });

  it("is done by one of several", () => {
    leave("a");
    giveTo(hostname(), deadPid(), "1");
    const spools = [open(), open(), open()];
    expect(spools.map((spool) => spool.adopt().length)).toEqual([1, 0, 0]);
  });
});

it("tells what is wrong with a directory that cannot be used", () => {
  const file = join(directory.path, "file");
  writeFileSync(file, "");
  expect(() => open({ directory: file })).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(file) }),
  );
});
