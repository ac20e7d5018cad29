/** An endpoint of webhooks on loopback: records what it is sent and answers as the test says. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Of the connection: equal for requests over the same one. */
  readonly clientPort: number
}

export interface ReceivedEvent {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

type Respond = (response: ServerResponse, request: ReceivedRequest) => void

export interface WebhookReceiver {
  readonly url: string
  readonly port: number
  readonly requests: readonly ReceivedRequest[]
  /** The parsed bodies, in the order of arrival. */
  readonly events: () => readonly ReceivedEvent[]
  /** How it answers from now on; at first 200. */
  readonly answer: (respond: Respond) => void
  /** Cuts all connections; the port is closed until `open`. */
  readonly close: () => Promise<void>
  readonly open: () => Promise<void>
}

export async function webhookReceiver(t: Test): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = []
  let respond: Respond = (response) => response.end('ok')
  let server: Server | null = null
  let port = 0
  const open = async (): Promise<void> => {
    server = createServer((request, response) => {
      const clientPort = request.socket.remotePort ?? 0
      void buffer(request).then((body) => {
        const received = { path: request.url ?? '', headers: request.headers, body: body.toString(), clientPort }
        requests.push(received)
        respond(response, received)
      })
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  const close = async (): Promise<void> => {
    const closing = server
    server = null
    if (closing === null) return
    closing.closeAllConnections()
    await new Promise((resolve) => closing.close(resolve))
  }
  await open()
  t.teardown(close)
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    requests,
    events: () => requests.map(({ body }) => JSON.parse(body) as ReceivedEvent),
    answer: (how) => {
      respond = how
    },
    close,
    open,
  }
}
