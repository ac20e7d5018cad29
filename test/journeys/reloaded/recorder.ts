/** An HTTP server on loopback that answers each request alike and records it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface RecordedRequest {
  readonly path: string
  readonly authorization: string
  readonly body: string
}

export interface Recorder {
  readonly url: string
  readonly requests: readonly RecordedRequest[]
}

export async function openRecorder(t: Test, answer: object): Promise<Recorder> {
  const requests: RecordedRequest[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ path: request.url ?? '', authorization: request.headers.authorization ?? '', body })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
