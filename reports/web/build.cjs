// node build.cjs <output>: bundles src/main.js for the report. Packages are found through NODE_PATH, so that they
// may stand in the build folder.
"use strict";
const fs = require("fs");
const path = require("path");
const esbuild = require("esbuild");

const notice = fs.readFileSync(path.join(__dirname, "../../NOTICE"), "utf8");
esbuild.buildSync({
  entryPoints: [path.join(__dirname, "src/main.js")],
  outfile: process.argv[2],
  nodePaths: (process.env.NODE_PATH || "").split(path.delimiter).filter(Boolean),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",   // the banner holds every licence once
  banner: { js: "/*!\n" + notice.replaceAll("*/", "* /") + "*/" },
  logLevel: "warning",
});
