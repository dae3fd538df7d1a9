// The program `svc-mock-server`, from the package for this platform.
"use strict";

/**
 * Returns the path of `svc-mock-server`: the value of `SVC_MOCK_SERVER`, or else the program in the optional
 * dependency for this platform.
 */
function findProgram() {
  if (process.env.SVC_MOCK_SERVER) return process.env.SVC_MOCK_SERVER;
  const platform = `${process.platform}-${process.arch}`;
  const name = process.platform === "win32" ? "svc-mock-server.exe" : "svc-mock-server";
  try {
    return require.resolve(`svc-mock-${platform}/${name}`);
  } catch {
    throw new Error(
      `svc-mock has no program for ${platform}, or optional dependencies were left out (--omit=optional); ` +
        "set SVC_MOCK_SERVER to the path of svc-mock-server",
    );
  }
}

module.exports = { findProgram };
