/** A proxy in front of the API that answers some requests with a fault, and counts what passed. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

/** A status is answered in place of the server; `lost`: the server does its work, and its answer does not arrive. */
type Fault = { readonly status: number; readonly retryAfter?: string } | 'lost'

interface FaultyProxy {
  readonly url: string
  /** The faults of the next requests, in their order. */
  readonly plan: (...faults: readonly Fault[]) => void
  /** `POST /v1/emails` and the idempotency key of each request, also of those with a fault. */
  readonly requests: readonly { readonly line: string; readonly idempotencyKey: string | undefined }[]
}

export async function openFaultyProxy(t: Test, host: string): Promise<FaultyProxy> {
  const faults: Fault[] = []
  const requests: FaultyProxy['requests'][number][] = []
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming
    requests.push({ line: `${method} ${url}`, idempotencyKey: headers['idempotency-key']?.toString() })
    const body = await buffer(incoming)
    const fault = faults.shift()
    if (typeof fault === 'object') {
      const { status, retryAfter } = fault
      outgoing.writeHead(status, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }).end('{}')
      return
    }
    const onward = request(`http://${host}${url}`, { method, headers }).end(body)
    const [response] = (await once(onward, 'response')) as [IncomingMessage]
    const answered = await buffer(response)
    if (fault === 'lost') outgoing.destroy()
    else outgoing.writeHead(response.statusCode ?? 500, response.headers).end(answered)
  }
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, plan: (...next) => faults.push(...next), requests }
}
