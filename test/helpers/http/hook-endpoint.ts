/** An endpoint for webhooks on loopback, which records requests and answers as it is set to. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface HookRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly event: { readonly id: string; readonly type: string; readonly data: Readonly<Record<string, unknown>> }
}

export interface HookEndpoint {
  readonly url: string
  readonly requests: readonly HookRequest[]
  /** The status of further answers; 204 at first. */
  answer: number
}

/** For a daemon whose `webhooks.allowed_private_networks` has 127.0.0.0/8. */
export async function openHookEndpoint(t: Test): Promise<HookEndpoint> {
  const requests: HookRequest[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const { url: path = '', headers } = request
    requests.push({ path, headers, body, event: JSON.parse(body.toString()) as HookRequest['event'] })
    response.writeHead(endpoint.answer).end('noted')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    await once(server.close(), 'close')
  })
  const { port } = server.address() as { readonly port: number }
  const endpoint: HookEndpoint = { url: `http://127.0.0.1:${port}/hooks?token=hidden`, requests, answer: 204 }
  return endpoint
}
