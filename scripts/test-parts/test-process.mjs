/**
 * What runs as the process of one test file: `node test-process.mjs FILE`.
 *
 * tap follows every promise with an async hook, to know which subtest an uncaught error belongs to. In files that
 * do much work the hook takes a third of the time. Without it, an error that no test catches ends the process, and
 * the file has failed.
 */
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

// Ten times V8's own: most files live for a second or two, in which optimized code does not pay for its compilation.
// Later versions of V8 know no such flag.
if (process.version.startsWith('v20.')) setFlagsFromString('--interrupt-budget=660000')

asyncHooks.createHook = () => ({ enable() {}, disable() {} })
syncBuiltinESMExports()

const [file = ''] = process.argv.splice(2, 1)
process.argv[1] = resolve(file)
await import(pathToFileURL(process.argv[1]).href)
