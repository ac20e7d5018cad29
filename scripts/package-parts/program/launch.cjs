/**
 * Starts the program if this Node.js can load the SQLite binding that the package has, and else says so in one line.
 *
 * Written for very old versions of Node.js too, which cannot read the program itself.
 */
'use strict'
const fs = require('fs')
const path = require('path')

const system = `${process.platform}-${process.arch}`
const modules = path.join(__dirname, 'node_modules')
const isOldBinding = !(Number(process.versions.napi) >= 10)

const refusal = findRefusal()
if (refusal === null) import('./dist/src/main.js')
else {
  process.stderr.write(`posthorn: ${refusal}\n`)
  process.exitCode = 1
}

function findRefusal() {
  if (!isOldBinding) {
    const found = fs.existsSync(path.join(modules, 'better-sqlite3-13', 'prebuilds', `${system}.node`))
    return found ? null : `this package is not for ${system}: install the one for it`
  }
  const compiled = fs.existsSync(path.join(modules, 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node'))
  // 115: Node.js 20. The compiled binding loads into this ABI alone.
  if (compiled && process.versions.modules === '115') return null
  const fitting = `${compiled ? '20.19 or later 20, ' : ''}22.14 or later`
  return `Node.js ${process.version} (ABI ${process.versions.modules}) does not fit this package: install Node.js ${fitting}, or the package that carries one`
}
