#!/usr/bin/env node
/**
 * The command `agl`.
 *
 * @module
 */
import { AglError } from "../errors.ts";
import { VERSION } from "../server/version.ts";
import type { Command, CommandLine } from "./command.ts";
import { serve } from "./serve.ts";

const COMMANDS: Readonly<Record<string, Command>> = { serve };

const HELP = `Usage: agl <command> [options]

Commands
${Object.entries(COMMANDS)
  .map(([name, command]) => `  ${name.padEnd(10)} ${command.summary}`)
  .join("\n")}

agl <command> --help tells more. agl --version prints the version.
`;

/** Runs one command and gives the exit code: 0 done, 1 failed, 2 called in a wrong way. */
async function main(args: readonly string[], line: CommandLine): Promise<number> {
  const [name, ...rest] = args;
  if (name === "--version" || name === "-v") {
    line.stdout(`${VERSION}\n`);
    return 0;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    line.stdout(HELP);
    return 0;
  }
  if (name === undefined) {
    line.stderr(HELP);
    return 2;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    line.stderr(`agl: there is no command ${JSON.stringify(name)}. See agl --help.\n`);
    return 2;
  }
  if (rest.includes("--help") || rest.includes("-h")) {
    line.stdout(command.help);
    return 0;
  }
  try {
    await command.run(rest, line);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    line.stderr(`agl ${name}: ${message}\n`);
    return AglError.is(error) && error.code === "invalid_argument" ? 2 : 1;
  }
}

// The exit code is set, not forced, so that what was written to a pipe is written whole.
process.exitCode = await main(process.argv.slice(2), {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  env: process.env,
  onStop: (listener) => {
    process.on("SIGINT", listener).on("SIGTERM", listener);
  },
  exit: (code) => process.exit(code),
});
