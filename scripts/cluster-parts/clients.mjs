// A client that any node may answer, as behind a load balancer: a request goes to the next node when one does not answer.
import { createClient } from '../lib/https-client.mjs'

/** Like `createClient`; the first request goes to the node at `first`. */
export function createBalancedClient(nodes, { key, first = 0 }) {
  const clients = nodes.map(({ ports }) => createClient({ port: ports.api, key, sockets: 1, wait: 8_000 }))
  let at = first
  return {
    ask: async (...request) => {
      for (let tries = 0; tries < clients.length; tries += 1) {
        const answer = await clients[at % clients.length].ask(...request)
        if (answer !== null && answer.status !== 503) return answer
        at += 1
      }
      return null
    },
    close: () => {
      for (const client of clients) client.close()
    },
  }
}

/**
 * Sends single emails of one workspace with keys of their own, each until it is answered, to whichever node answers. Resolves to the
 * counts of answers by status.
 */
export async function useUpQuota(signal, client, from) {
  const counts = {}
  for (let number = 1; !signal.aborted; number += 1) {
    const email = { from, to: 'someone@sink.test', subject: 'counted', text: 'counted', headers: { 'X-Lines': '1' } }
    const headers = { 'idempotency-key': `${from} ${process.pid} ${number} ${Math.random()}` }
    let answer = null
    while (answer === null && !signal.aborted) answer = await client.ask('POST', '/v1/emails', email, headers)
    if (answer !== null) counts[answer.status] = (counts[answer.status] ?? 0) + 1
  }
  return counts
}
