/**
 * The virtual environment with the real Python package, made once and reused until its requirements change.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL("./requirements.txt", import.meta.url));
/** The requirements were resolved with 3.11; later versions need no other packages. */
const CANDIDATES = ["python3.11", "python3.12", "python3.13", "python3"];

/** The program of the first Python from 3.11 on that can make virtual environments. */
async function findPython(): Promise<string> {
  const seen: string[] = [];
  for (const name of CANDIDATES) {
    try {
      const probe = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";
      const { stdout } = await run(name, ["-c", probe]);
      const [major, minor] = stdout.trim().split(".").map(Number);
      seen.push(`${name} is ${stdout.trim()}`);
      if (major === 3 && minor !== undefined && minor >= 11) return name;
    } catch {
      // Not there, or there without venv.
    }
  }
  throw new Error(
    `The conformance tests need Python 3.11 or later with the venv module on the PATH (found: ${seen.join(", ") || "none"}). ` +
      "Install one, or name an environment that has the requirements in AGL_CONFORMANCE_VENV.",
  );
}

/** Path of a Python that has the packages of `requirements.txt`; makes the environment where there is none yet. */
export async function preparePython(): Promise<string> {
  const given = process.env["AGL_CONFORMANCE_VENV"];
  if (given !== undefined && given !== "") return join(given, "bin", "python");
  const requirements = await readFile(REQUIREMENTS);
  const hash = createHash("sha256").update(requirements).digest("hex").slice(0, 16);
  const home = join(ROOT, ".conformance");
  const venv = join(home, `python-${hash}`);
  const python = join(venv, "bin", "python");
  // Written last: an install that was interrupted is made again.
  const complete = join(venv, "complete");
  if (existsSync(complete)) return python;
  const base = await findPython();
  process.stderr.write(`Installing the Python packages into ${venv} with ${base}; once, some minutes.\n`);
  await rm(venv, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  await run(base, ["-m", "venv", venv]);
  const install = [
    "-m",
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-deps",
    "--requirement",
    REQUIREMENTS,
  ];
  await run(python, install, { maxBuffer: 64 * 1024 * 1024 });
  await writeFile(complete, "");
  return python;
}
