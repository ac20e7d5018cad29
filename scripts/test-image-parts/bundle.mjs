/**
 * Writes the configuration of a bundle that a runtime starts as docs/containers.md starts the image: with a read-only
 * root, no capability, a volume and a folder for temporary files. It has a network of its own, without a way out.
 *
 *   node bundle.mjs BUNDLE FOLDER DATA [WORD...]
 *
 * BUNDLE is what umoci has unpacked, FOLDER gets the configuration, DATA is the volume. With words, the command of the
 * program is this one.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [bundle = '', folder = '', data = '', ...words] = process.argv.slice(2)
const config = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'))
const { process: program, linux } = config

config.hostname = 'mail.example.test'
config.root = { path: resolve(bundle, 'rootfs'), readonly: true }
program.terminal = false
if (words.length > 0) program.args = [program.args[0], ...words]
program.noNewPrivileges = true
program.capabilities = {}
// Many machines of tests forbid a change of the limits, and have no control groups that a runtime could use.
program.rlimits = []
delete linux.resources
config.mounts.push(
  { destination: '/var/lib/posthorn', type: 'bind', source: resolve(data), options: ['bind', 'rw'] },
  { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'noexec', 'mode=1777'] },
)
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
