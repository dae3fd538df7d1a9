#!/usr/bin/env node
"use strict";

const { spawn } = require("node:child_process");
const { findProgram } = require("./program.js");

const child = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
