// For jest: the shared mock ends with the file, as jest loads the modules of each file anew.
"use strict";

const svcMock = require("./index.js");

afterAll(svcMock.stopSharedMock);

module.exports = svcMock;
