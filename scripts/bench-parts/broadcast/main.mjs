// Broadcasts: what a message costs, how fast a whole broadcast goes out, and what other mail notices of it.
import { measureBeside } from './beside.mjs'
import { measureCompose } from './compose.mjs'
import { measureSend } from './send.mjs'

export async function measureBroadcast({ folder, messages, warmUp, rounds }) {
  return [
    ...(await measureCompose({ messages })),
    ...(await measureSend({ folder, messages, warmUp, rounds })),
    ...(await measureBeside({ folder, rounds })),
  ]
}
