// Whether memory grows: what the daemon holds while a hundred thousand messages arrive.
import { residentMegabytes } from '../../lib/processes.mjs'
import { filed, handIn } from './measure.mjs'
import { inboundPosthorn } from './posthorn.mjs'

export async function inboundMemory({ folder, dns, file, messages, sessions }) {
  const step = Math.ceil(messages / 10)
  const server = await inboundPosthorn.start({ folder, dns })
  const found = []
  console.log(`\nmemory while ${messages} messages come in over ${sessions} sessions`)
  try {
    for (let done = 0; done < messages; ) {
      const seconds = await handIn(server.port, { file, messages: step, sessions })
      done += step
      await filed(server, done)
      const megabytes = residentMegabytes(server.pids())
      found.push({ messages: done, megabytes, rate: step / seconds })
      console.log(
        `  ${String(done).padStart(7)}  ${megabytes.toFixed(0).padStart(5)} MB  ${(step / seconds).toFixed(0)} messages/s`,
      )
    }
  } finally {
    await server.stop()
  }
  return [{ name: 'inbound memory', found }]
}
