/**
 * Starts the program if this Node.js can load the binary of SQLite that the package has, and else says so in one line.
 *
 * Written for very old versions of Node.js too, which cannot read the program itself.
 */
'use strict'
const fs = require('fs')
const path = require('path')

/** The binary is for every Node.js with this Node-API: 22.14 and later. */
const nodeApi = 10

const refusal = findRefusal()
if (refusal === null) import('./dist/src/main.js')
else {
  process.stderr.write(`posthorn: ${refusal}\n`)
  process.exitCode = 1
}

function findRefusal() {
  if (!(Number(process.versions.napi) >= nodeApi)) {
    return `Node.js ${process.version} is too old: install Node.js 22.14 or later, or the package again, which carries one`
  }
  const system = `${process.platform}-${process.arch}`
  const binary = path.join(__dirname, 'node_modules', 'better-sqlite3', 'prebuilds', `${system}.node`)
  return fs.existsSync(binary) ? null : `this package is not for ${system}: install the one for it`
}
