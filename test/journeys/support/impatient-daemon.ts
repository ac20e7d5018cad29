/** `serve` with other time limits for its shutdown: `impatient-daemon.js CONFIG JSON`. */

import { loadConfig } from '../../../src/base/config/load.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { serve } from '../../../src/operations/cli/commands/serve.js'

const [, , file = '', patience = ''] = process.argv
const loaded = loadConfig({ file, env: {} })
if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
await serve(
  { words: [], options: {}, config: loaded.config, written: loaded.written, clock: systemClock },
  { env: {}, journal: false, reload: () => loadConfig({ file, env: {} }), stopTimeouts: JSON.parse(patience) },
)
