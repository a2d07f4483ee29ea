import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

interface Sample {
  where: string;
  code: string;
}

/** Code blocks marked `ts` in a text; in TSDoc each line has a leading star. */
function samplesOf(file: string): Sample[] {
  let text = readFileSync(file, "utf8");
  if (file.endsWith(".ts")) text = text.replaceAll(/^[ \t]*\* ?/gm, "");
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => ({
    where: `${relative(ROOT, file)}:${text.slice(0, match.index).split("\n").length}`,
    code: match[1] as string,
  }));
}

function find(dir: string, suffix: string): string[] {
  return ts.sys.readDirectory(join(ROOT, dir), [suffix], ["**/node_modules/**", "**/api/**"]);
}

const files = [
  join(ROOT, "README.md"),
  join(ROOT, "CONTRIBUTING.md"),
  ...find("docs", ".md"),
  ...find("src", ".ts"),
];
const samples = files.flatMap(samplesOf);

/** Compiles every sample as a module of its own against the sources. */
function compile(): Map<string, string[]> {
  const config = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
  const entry = (name: string) => [join(ROOT, "src", name)];
  const all: ts.CompilerOptions = {
    ...options,
    noEmit: true,
    paths: {
      agentlightning: entry("index.ts"),
      "agentlightning/client": entry("client/index.ts"),
      "agentlightning/store": entry("store/index.ts"),
      "agentlightning/server": entry("server/index.ts"),
      "agentlightning/testing": entry("testing/index.ts"),
    },
  };
  const virtual = new Map(
    samples.map((s, i) => [join(ROOT, "test/docs", `sample-${i}.ts`), `${s.code}\nexport {};\n`]),
  );
  const host = ts.createCompilerHost(all);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => virtual.has(name) || fileExists(name);
  host.readFile = (name) => virtual.get(name) ?? readFile(name);
  host.getSourceFile = (name, ...rest) => {
    const code = virtual.get(name);
    return code === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, code, ts.ScriptTarget.ES2022);
  };
  const program = ts.createProgram([...virtual.keys()], all, host);
  const errors = new Map<string, string[]>();
  for (const [i, name] of [...virtual.keys()].entries()) {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    errors.set(
      (samples[i] as Sample).where,
      found.map((d) => ts.flattenDiagnosticMessageText(d.messageText, "\n")),
    );
  }
  return errors;
}

test("every code sample of the README, the guides and the TSDoc compiles", () => {
  expect(samples.length).toBeGreaterThan(5);
  const errors = [...compile()].filter(([, list]) => list.length > 0);
  expect(Object.fromEntries(errors)).toEqual({});
});
