/** Bodies that arrive with their header, after it, and behind one another: the same bytes, and all memory is returned. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { MemoryBudget } from '../../../../../src/base/platform/memory/budget.js'
import { bodyPace, readBody } from '../../../../../src/servers/api/http/input/read-body.js'

const headerOf = (body: string, more = ''): string =>
  `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n${more}\r\n`

t.test('a body is read whole, however it arrives', async (t) => {
  const budget = new MemoryBudget(1_000)
  const seen: { readonly body: string; readonly isHeld: boolean }[] = []
  const server = createServer(async (request, response) => {
    await null // as the pipeline does before it reads
    if (request.url === '/late') while (request.readableLength < 6) await nextTurn()
    const { raw, release } = await readBody(request, 500, budget, bodyPace)
    seen.push({ body: raw.toString(), isHeld: budget.usedBytes() >= raw.length })
    release()
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo

  const together = connect(port, '127.0.0.1')
  together.end(`${headerOf('one')}one${headerOf('second', 'Connection: close\r\n')}second`)
  t.equal((await text(together)).match(/200 OK/g)?.length, 2)

  const apart = connect(port, '127.0.0.1')
  apart.write(headerOf('third', 'Expect: 100-continue\r\nConnection: close\r\n'))
  await once(apart, 'data') // the request is under way
  apart.write('thi')
  apart.write('rd')
  t.match(await text(apart), /200 OK/)

  const pieces = connect(port, '127.0.0.1')
  pieces.write(headerOf('fourth', 'Connection: close\r\n').replace('/', '/late'))
  for (const piece of ['fo', 'ur', 'th']) {
    await sleep(20)
    pieces.write(piece)
  }
  t.match(await text(pieces), /200 OK/)

  t.same(seen, [
    { body: 'one', isHeld: true },
    { body: 'second', isHeld: true },
    { body: 'third', isHeld: true },
    { body: 'fourth', isHeld: true },
  ])
  t.equal(budget.usedBytes(), 0)
})
