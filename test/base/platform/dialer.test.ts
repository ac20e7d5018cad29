/** A refusal is the peer's; a lack of descriptors is ours, and is not reported as a failure of the peer. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort } from '../../helpers/free-port.js'

const dialer = new URL('../../../src/base/platform/dialer.js', import.meta.url).href

/** Opens files until there is no descriptor, dials, and prints what that rejects with. */
const program = `
import { closeSync, openSync } from 'node:fs'
import { createDialer } from ${JSON.stringify(dialer)}
const { dial } = createDialer()
const limits = { timeout: 5000, signal: new AbortController().signal }
const name = (error) => error.name + ' ' + (error.failure ?? error.code)
await dial('127.0.0.1', Number(process.argv[1]), limits).catch((error) => console.log('with descriptors:', name(error)))
const files = []
try { for (;;) files.push(openSync('/dev/null')) } catch {}
const [found] = await Promise.allSettled([dial('127.0.0.1', Number(process.argv[1]), limits)])
for (const file of files) closeSync(file)
console.log('without:', name(found.reason))
`

t.test('without descriptors it rejects with the error of the system', async (t) => {
  const port = await freePort()
  const words = [process.execPath, '--input-type=module', '-e', program, '--', String(port)]
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...words])
  t.equal(stdout, 'with descriptors: DialError refused\nwithout: Error EMFILE\n')
})
