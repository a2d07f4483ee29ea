import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VERSION } from "../../src/server/version.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const LOADER = import.meta.resolve("tsx");

let folder: string;
const running: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agl-cli-"));
});
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function start(args: string[], env: Record<string, string> = {}) {
  const { AGL_KEY: _, ...inherited } = process.env;
  const child = spawn(process.execPath, ["--import", LOADER, MAIN, ...args], {
    cwd: folder,
    env: { ...inherited, ...env },
  });
  running.push(child);
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    out.stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, ...out }));
  /** The start line and the address in it. */
  const started = async () => {
    while (!out.stdout.includes("\n")) {
      const event = await Promise.race([once(child.stdout, "data"), ended]);
      if ("code" in event) throw new Error(`It ended: ${JSON.stringify(event)}`);
    }
    const line = out.stdout.split("\n")[0] as string;
    return { line, url: /http:\/\/\S+/.exec(line)?.[0] as string };
  };
  return { child, ended, started };
}

const run = (args: string[], env?: Record<string, string>) => start(args, env).ended;

describe("help and mistakes", () => {
  test("the version is the package's", async () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(VERSION).toBe(manifest.version);
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  test("help lists the commands and their options", async () => {
    expect(await run(["--help"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}serve /m) });
    const help = await run(["serve", "--help"]);
    expect(help.code).toBe(0);
    const options = ["port", "host", "db", "memory", "key", "cors-origin", "log-level"];
    for (const option of options) expect(help.stdout).toContain(`--${option}`);
    expect(await run([])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("Usage: agl"),
    });
  });

  test.each([
    [["nothing"], 'there is no command "nothing"'],
    [["constructor"], 'there is no command "constructor"'],
    [["serve", "--prot", "1"], "--prot"],
    [["serve", "extra"], "extra"],
    [["serve", "--port"], "--port"],
    [["serve", "--port", "70000"], '--port cannot be "70000"'],
    [["serve", "--port", "x"], '--port cannot be "x"'],
    [["serve", "--log-level", "loud"], '--log-level cannot be "loud"'],
    [["serve", "--memory", "--db", "a"], "--db and --memory exclude each other"],
    [["serve", "--memory", "--host", "0.0.0.0"], "without a key"],
    [["serve", "--memory", "--key", ""], "key is empty"],
  ])("%j is one line and exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("a database that cannot be opened is one line and exit code 1 or 2", async () => {
    writeFileSync(
      join(folder, "text.sqlite"),
      "this is no database at all, only text that goes on and on".repeat(50),
    );
    for (const file of ["text.sqlite", "no/such/folder/x.sqlite", "."]) {
      const { code, stdout, stderr } = await run(["serve", "--port", "0", "--db", file]);
      expect([1, 2]).toContain(code);
      expect(stdout).toBe("");
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).toContain(join(folder, file));
    }
  });

  test("a port in use is one line and exit code 1", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const { code, stderr } = await run(["serve", "--memory", "--port", String(port)]);
    other.close();
    expect(code).toBe(1);
    expect(stderr.trim()).toMatch(new RegExp(`^agl serve: Cannot listen on 127.0.0.1 port ${port}: .*$`));
  });
});

describe("serving", () => {
  test("keeps everything in agl.sqlite of the working directory, across a kill", async () => {
    const first = start(["serve", "--port", "0"]);
    const { line, url } = await first.started();
    expect(line).toContain(join(folder, "agl.sqlite"));
    expect(line).toContain("no key");
    const body = JSON.stringify({ rollouts: [{ input: "kept" }] });
    const headers = { "content-type": "application/json" };
    const made = await fetch(`${url}/v1/agl/queues/rollouts/enqueue`, { method: "POST", headers, body });
    expect(made.status).toBe(201);
    first.child.kill("SIGKILL");
    await first.ended;
    const second = start(["serve", "--port", "0", "--db", "agl.sqlite"]);
    const again = await second.started();
    const page = (await (await fetch(`${again.url}/v1/agl/rollouts`)).json()) as {
      items: { input: string }[];
    };
    expect(page.items.map((each) => each.input)).toEqual(["kept"]);
    second.child.kill("SIGTERM");
    expect(await second.ended).toMatchObject({ code: 0, signal: null });
  });

  test("in memory leaves no file; the key comes from AGL_KEY and opens all addresses", async () => {
    const { child, ended, started } = start(["serve", "--port", "0", "--memory", "--host", "0.0.0.0"], {
      AGL_KEY: "secret",
    });
    const { line, url } = await started();
    expect(line).toContain("in memory");
    expect(line).toContain("key required");
    expect(line).not.toContain("secret");
    const local = url.replace("localhost", "127.0.0.1");
    expect((await fetch(`${local}/v1/agl/statistics`)).status).toBe(401);
    const headers = { authorization: "Bearer secret" };
    expect((await fetch(`${local}/v1/agl/statistics`, { headers })).status).toBe(200);
    child.kill("SIGINT");
    const end = await ended;
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(end.stderr).not.toContain("secret");
    for (const text of end.stderr.trim().split("\n")) {
      expect(JSON.parse(text)).toMatchObject({ level: "info", time: expect.any(String) });
    }
    expect(existsSync(join(folder, "agl.sqlite"))).toBe(false);
  });

  test("origins can be given more than once; requests are logged at debug", async () => {
    const args = ["serve", "--port", "0", "--memory", "--cors-origin", "https://a.example"];
    const server = start([...args, "--cors-origin", "https://b.example", "--log-level", "DEBUG"]);
    const { url } = await server.started();
    for (const origin of ["https://a.example", "https://b.example"]) {
      const answer = await fetch(`${url}/v1/agl/health`, { headers: { origin } });
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    }
    server.child.kill("SIGTERM");
    expect((await server.ended).stderr).toContain('"path":"/v1/agl/health","status":200');
  });

  test("the first signal waits for what is in flight, the second does not", async () => {
    const { child, ended, started } = start(["serve", "--port", "0", "--memory"]);
    const { url } = await started();
    const { port } = new URL(url);
    // A request whose body does not come keeps the server from stopping.
    const { connect } = await import("node:net");
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(
      "POST /v1/agl/rollouts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    );
    await once(socket, "data");
    child.kill("SIGTERM");
    await once(child.stderr, "data");
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 143 });
    socket.destroy();
  });
});
