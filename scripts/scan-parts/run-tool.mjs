// Runs a scanner to its end and returns what it printed; a scanner that hangs is ended.
import { spawn } from 'node:child_process'

const MAX_MILLISECONDS = 10 * 60_000

export function runTool(program, words) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], timeout: MAX_MILLISECONDS })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (text += part))
    child.once('error', reject)
    child.once('close', (status, signal) => {
      if (signal === null) resolve({ text, status })
      else reject(new Error(`${program} was ended by ${signal}: ${text.slice(-500)}`))
    })
  })
}
