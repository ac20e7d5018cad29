/**
 * The endpoint of a webhook on loopback: keeps the requests that it got, each with the bytes of its body.
 *
 *     const receiver = await openReceiver(t)
 *     await receiver.waitFor((request) => request.event.type === 'email.opened')
 */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { waitUntil } from '../wait-until.js'

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The parsed body. */
  readonly event: Readonly<Record<string, unknown>>
}

export interface WebhookReceiver {
  readonly url: string
  readonly requests: readonly ReceivedRequest[]
  /** Resolves to the first request for which `fits`, earlier ones included. */
  readonly waitFor: (fits: (request: ReceivedRequest) => boolean) => Promise<ReceivedRequest>
}

export async function openReceiver(t: Test): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      requests.push({ headers: request.headers, body, event: JSON.parse(body.toString()) as ReceivedRequest['event'] })
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    requests,
    waitFor: (fits) => waitUntil('a request at the webhook', () => requests.find(fits)),
  }
}
