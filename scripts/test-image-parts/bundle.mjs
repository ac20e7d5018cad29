/**
 * Writes the configuration of a bundle of which a runtime prints the version of the program, without a terminal or network.
 *
 *   node bundle.mjs CONFIG FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [from = '', folder = ''] = process.argv.slice(2)
const config = JSON.parse(readFileSync(from, 'utf8'))
config.process.terminal = false
config.process.args = ['/usr/bin/posthorn', 'version']
// Many machines of tests forbid a change of the limits.
config.process.rlimits = []
config.root.readonly = true
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
