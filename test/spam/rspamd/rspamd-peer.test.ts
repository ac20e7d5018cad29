/** rspamd: what it is asked, what its answers weigh, and that nothing it does costs a message. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  buildHeaders,
  type CheckWithRspamd,
  createRspamdClient,
  type RspamdLimits,
  type RspamdRequest,
} from '../../../src/spam/rspamd/rspamd.js'
import { parseRspamdVerdict, type RspamdVerdict } from '../../../src/spam/rspamd/rspamd-answer.js'
import { collectRspamdContributions } from '../../../src/spam/rspamd/rspamd-points.js'
import { defaultSpamThresholds, sumScores } from '../../../src/spam/spam-report.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { skipWithout } from '../../helpers/programs.js'
import { rspamdPeer } from '../../helpers/rspamd-peer.js'

const limits: RspamdLimits = { timeout: 10_000, concurrency: 20, memoryBytes: 1_000_000, responseBytes: 100_000 }
const origin = {
  envelopeFrom: 'bob@b.test',
  clientAddress: '192.0.2.1',
  helo: 'mx.b.test',
  reverseName: 'mx.b.test',
}
const question: RspamdRequest = {
  id: 'in-1',
  raw: Buffer.from('From: bob@b.test\r\nSubject: hello\r\n\r\nhello\r\n'),
  origin,
  recipients: ['info@a.test', 'sales@a.test'],
}
const fine = JSON.stringify({ score: 3, required_score: 15, action: 'no action', symbols: {} })

interface Asking {
  readonly ask: CheckWithRspamd
  readonly log: readonly { readonly level: number; readonly msg: string; readonly [key: string]: unknown }[]
  readonly clock: { now: number }
}

function clientOf(url: string, more: Partial<RspamdLimits> = {}): Asking {
  const log: Asking['log'][number][] = []
  const clock = { now: 0 }
  const write = (line: string): void => void log.push(JSON.parse(line) as Asking['log'][number])
  const deps = {
    url: new URL(url),
    clock: () => clock.now,
    log: pino({ level: 'trace' }, { write }),
    limits: { ...limits, ...more },
  }
  return { ask: createRspamdClient(deps), log, clock }
}

type Answering = (request: IncomingMessage, response: ServerResponse) => void

async function server(t: Test, answering: Answering): Promise<string> {
  const listening = createServer(answering).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

t.test('it is given the bytes and the envelope, and its score comes back', async (t) => {
  const asked: { request: IncomingMessage; body: Buffer }[] = []
  const url = await server(t, (request, response) => {
    void buffer(request).then((body) => {
      asked.push({ request, body })
      response.end(fine)
    })
  })
  const { ask, log } = clientOf(`${url}/filters/`)
  t.same(await ask(question), { score: 3, requiredScore: 15, action: 'none', symbols: [] })
  const [{ request, body } = { request: undefined, body: undefined }] = asked
  t.equal(`${request?.method} ${request?.url}`, 'POST /filters/checkv2')
  t.same(body, question.raw)
  t.match(request?.headersDistinct, {
    ip: ['192.0.2.1'],
    helo: ['mx.b.test'],
    hostname: ['mx.b.test'],
    from: ['<bob@b.test>'],
    rcpt: ['info@a.test', 'sales@a.test'],
    'queue-id': ['in-1'],
    'content-length': [String(question.raw.length)],
  })
  t.same(log, [])
})

t.test('a URL may have a login, which goes to the server and into no log', async (t) => {
  const fields: (string | undefined)[] = []
  const url = await server(t, (request, response) => {
    fields.push(request.headers.authorization, request.url)
    response.statusCode = 403
    response.end()
  })
  const { ask, log } = clientOf(`${url.replace('//', '//us%40er:pass%2Fword@')}/checkv2`)
  t.equal(await ask(question), null)
  t.same(fields, [`Basic ${Buffer.from('us@er:pass/word').toString('base64')}`, '/checkv2'])
  t.match(log, [{ level: 40, reason: 'answered 403', rspamd: `${url}/checkv2` }])
  t.notMatch(JSON.stringify(log), /pass|us%40er/)
})

t.test('what strangers said cannot make header fields', async (t) => {
  const evil = 'x\r\nPass: all\r\n\r\nGET / \0\u0085é🦊'
  const hostile = {
    ...question,
    id: evil,
    origin: { envelopeFrom: evil, clientAddress: evil, helo: evil, reverseName: evil },
    recipients: [evil, ...Array<string>(500).fill('a@a.test')],
  }
  const values = Object.values(buildHeaders(hostile)).flat()
  t.ok(
    values.every((value) => /^[\x20-\x7e\x80-\xff]*$/.test(value)),
    'nothing but what may stand in a line',
  )
  t.equal(buildHeaders(hostile)['Rcpt']?.length, 100)
  const seen: NodeJS.Dict<string[]>[] = []
  const url = await server(t, (request, response) => {
    seen.push(request.headersDistinct)
    response.end(fine)
  })
  t.not(await clientOf(url).ask(hostile), null)
  t.equal(seen[0]?.['pass'], undefined)
  t.match(Buffer.from(seen[0]?.['helo']?.[0] ?? '', 'latin1').toString(), /^x Pass: all GET \/\s+é🦊$/)
  t.same(
    Object.keys(buildHeaders({ ...question, origin: { ...origin, helo: '', reverseName: null } })).includes('Helo'),
    false,
  )
})

t.test('whatever goes wrong, there is no verdict, and the log says why', async (t) => {
  const ways: readonly (readonly [why: RegExp, answering: Answering])[] = [
    [/answered 500/, (_, response) => response.writeHead(500).end('{"error":"x"}')],
    [/answered 302/, (_, response) => response.writeHead(302, { location: '/other' }).end()],
    [/ECONNRESET|socket hang up/, (request) => request.socket.destroy()],
    [/none of rspamd/, (_, response) => response.end('<html>')],
    [/none of rspamd/, (_, response) => response.end('[]')],
    [/none of rspamd/, (_, response) => response.end('{"score":"much"}')],
    [/more than 100000 bytes/, (_, response) => response.end(Buffer.alloc(200_000, 0x20))],
    [/HPE_|Parse/i, (request) => request.socket.end('SMTP ready\r\n\r\n')],
    [
      /ECONNRESET|aborted/,
      (_, response) => response.writeHead(200, { 'content-length': 9 }).write('{') && response.destroy(),
    ],
  ]
  for (const [why, answering] of ways) {
    const { ask, log } = clientOf(await server(t, answering))
    t.equal(await ask(question), null, String(why))
    t.match(log, [{ level: 40, reason: why, messages: 1 }])
  }
})

t.test('nobody there, or somebody who never answers, is waited for no longer than the limit', async (t) => {
  const gone = await server(t, () => undefined)
  const silent = clientOf(gone, { timeout: 50 })
  t.equal(await silent.ask(question), null)
  t.match(silent.log, [{ reason: 'no answer within 0.05 s' }])
  const dripping = await server(t, (request, response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(' '), 5)
    request.socket.on('close', () => clearInterval(drip))
  })
  t.equal(await clientOf(dripping, { timeout: 100 }).ask(question), null, 'the limit is for all of it')
  const nobody = clientOf('http://127.0.0.1:1')
  t.equal(await nobody.ask(question), null)
  t.match(nobody.log, [{ reason: 'ECONNREFUSED' }])
})

t.test('waiting for a free place is in the limit, and messages that wait are bounded in bytes', async (t) => {
  let open = 0
  const url = await server(t, () => {
    open += 1
  })
  const { ask, log } = clientOf(url, { timeout: 300, concurrency: 2, memoryBytes: 5 * question.raw.length })
  const verdicts = await Promise.all(Array.from({ length: 8 }, () => ask(question)))
  t.same(verdicts, Array(8).fill(null))
  t.equal(open, 2, 'no more than two at a time, and five under way')
  t.match(log, [{ reason: 'too many messages wait for it', messages: 1 }])
  t.equal(log.length, 1)
})

t.test('while it stays down it is left alone, asked again after a rest, and complained of once a minute', async (t) => {
  let asked = 0
  let well = false
  const url = await server(t, (_, response) => {
    asked += 1
    response.writeHead(well ? 200 : 500).end(fine)
  })
  const { ask, log, clock } = clientOf(url)
  for (let count = 0; count < 10; count += 1) t.equal(await ask(question), null)
  t.equal(asked, 3)
  clock.now += 10_000
  t.equal(await ask(question), null, 'one tries, the next does not')
  t.equal(await ask(question), null)
  t.equal(asked, 4)
  t.equal(log.length, 1)
  clock.now += 60_000
  t.equal(await ask(question), null)
  t.match(log.slice(1), [{ reason: 'answered 500', messages: 12 }])
  well = true
  clock.now += 10_000
  t.match(await ask(question), { score: 3 })
  t.match(await ask(question), { score: 3 }, 'well again')
})

t.test('over TLS its certificate must be good', async (t) => {
  const { cert, key } = await createSelfSigned(['localhost', '127.0.0.1'])
  const listening = createTlsServer({ cert, key }, (_, response) => response.end(fine)).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => listening.close())
  const { ask, log } = clientOf(`https://127.0.0.1:${(listening.address() as AddressInfo).port}`)
  t.equal(await ask(question), null)
  t.match(log, [{ reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' }])
})

const verdict = (more: Partial<RspamdVerdict>): RspamdVerdict => ({
  score: 0,
  requiredScore: 15,
  action: 'none',
  symbols: [],
  ...more,
})

/** Together with what we found ourselves. */
const total = (own: number, more: Partial<RspamdVerdict>): number =>
  sumScores([
    { name: 'OWN', score: own, description: '' },
    ...collectRspamdContributions(own, verdict(more), defaultSpamThresholds),
  ])

t.test('what both found counts once, and what speaks for a message counts as it is', async (t) => {
  t.equal(total(0, { score: 15 }), 8, 'the score at which it refuses is our spam')
  t.equal(total(0, { score: 7.5 }), 4)
  t.equal(total(5, { score: 7.5 }), 5, 'ours is higher')
  t.equal(total(3, { score: 7.5 }), 4, 'its is higher')
  t.equal(total(3, { score: 0 }), 3, 'that it found nothing is no evidence')
  t.equal(total(5, { score: -3 }), 3.4)
  t.equal(total(9, { score: -100 }), 6, 'no more than three are taken away')
  t.equal(total(-3, { score: 15 }), 5)
  t.equal(total(2, { score: 6, action: 'add header' }), 4, 'what it marks is suspicious')
  t.equal(total(0, { score: 0, action: 'reject' }), 8, 'what it refuses is spam')
  t.equal(total(3, { score: 40, requiredScore: 20 }), 16, 'its scale is its own')
})

t.test('its symbols are shown, bounded, and the report adds up', async (t) => {
  const symbols = Array.from({ length: 90 }, (_, at) => ({ name: `S_${at}`, score: at / 10, description: 'd' }))
  const lines = collectRspamdContributions(2, verdict({ score: 12.34, symbols }), defaultSpamThresholds)
  t.equal(lines.length, 41)
  t.same(lines[0], { name: 'RSPAMD_S_89', score: 4.75, description: 'd' })
  t.equal(sumScores(lines), 4.58, '12.34 of 15 as of 8, less the two that were found already')
  t.match(lines.at(-1), { name: 'RSPAMD', description: /12\.34 of 15, 6\.58 here/ })
  const silent = [{ name: 'GTUBE', score: 0, description: '' }]
  t.match(collectRspamdContributions(0, verdict({ symbols: silent, action: 'reject' }), defaultSpamThresholds), [
    { name: 'RSPAMD_GTUBE', score: 0 },
    { name: 'RSPAMD', score: 8 },
  ])
})

t.test('an answer is read as far as it makes sense', async (t) => {
  t.same(
    parseRspamdVerdict(
      JSON.stringify({
        score: 1e300,
        required_score: null,
        action: 'rewrite subject',
        symbols: {
          'A b\r\n': { score: 2, description: 'one\r\ntwo\u202e =?utf-8?q?=1B?=', options: ['x'] },
          [`L${'o'.repeat(100)}`]: { score: 'x', description: 7 },
          N: null,
        },
      }),
    ),
    {
      score: 1000,
      requiredScore: 15,
      action: 'add header',
      symbols: [
        { name: 'A_b__', score: 2, description: 'one two' },
        { name: `L${'o'.repeat(59)}`, score: 0, description: '' },
        { name: 'N', score: 0, description: '' },
      ],
    },
  )
  for (const [action, means] of [
    ['greylist', 'none'],
    ['soft reject', 'none'],
    ['toString', 'none'],
    ['discard', 'reject'],
    ['quarantine', 'reject'],
  ] as const) {
    t.equal(parseRspamdVerdict(JSON.stringify({ score: 0, action }))?.action, means)
  }
})

t.test('no answer whatever breaks the report', async (t) => {
  const symbol = fc.record({
    score: fc.anything(),
    description: fc.oneof(fc.string({ unit: 'binary' }), fc.anything()),
  })
  const likely = fc.record(
    {
      score: fc.oneof(fc.double(), fc.anything()),
      required_score: fc.oneof(fc.double(), fc.anything()),
      action: fc.oneof(fc.constantFrom('reject', 'add header'), fc.anything()),
      symbols: fc.oneof(fc.dictionary(fc.string({ unit: 'binary' }), symbol), fc.anything()),
    },
    { requiredKeys: [] },
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    likely.map((answer) => JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
  )
  let read = 0
  fc.assert(
    fc.property(texts, fc.double({ min: -20, max: 2000, noNaN: true }), (text, own) => {
      const found = parseRspamdVerdict(text)
      if (found === null) return
      read += 1
      const lines = collectRspamdContributions(own, found, defaultSpamThresholds)
      if (!lines.every(({ score }) => Number.isFinite(score) && Math.abs(score) < 100_000)) throw new Error('score')
      if (lines.some(({ name }) => !/^\w{1,70}$/.test(name))) throw new Error('name')
      if (lines.some(({ description }) => description.length > 200 || /\p{Cc}/u.test(description)))
        throw new Error('text')
      if (lines.length > 41) throw new Error('lines')
    }),
    { numRuns: 3_000 },
  )
  t.ok(read > 100, `${read} of them were answers`)
})

const gtube = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')

t.test("Debian's rspamd", { skip: skipWithout('rspamd') }, async (t) => {
  const { ask, log } = clientOf((await rspamdPeer(t)).url)
  const said = (...lines: readonly string[]): Promise<RspamdVerdict | null> =>
    ask({ ...question, raw: Buffer.from([...lines, ''].join('\r\n')) })

  await t.test('gives symbols, whose scores add up to its score', async (t) => {
    const found = await said(
      'From: Bob <bob@b.test>',
      'To: info@a.test',
      'Subject: save money',
      'Date: yesterday',
      'MIME-Version: 1.0',
      'Content-Type: text/html',
      '',
      '<html><body>cheap</body></html>',
    )
    const symbols = found?.symbols ?? []
    t.match(found, { requiredScore: 15, action: 'none' })
    t.match(
      symbols.find(({ name }) => name === 'INVALID_DATE'),
      { score: 1.5, description: /\w+/ },
    )
    t.ok((found?.score ?? 0) > 2, String(found?.score))
    t.equal(sumScores(symbols.map((symbol) => ({ ...symbol }))), Math.round((found?.score ?? 0) * 100) / 100)
    const own = collectRspamdContributions(0, found ?? verdict({}), defaultSpamThresholds)
    t.equal(sumScores(own), Math.round(((found?.score ?? 0) * 800) / 15) / 100)
  })

  await t.test('takes the line by which filters are tested for spam', async (t) => {
    const found = await said('From: bob@b.test', 'Subject: test', '', gtube)
    t.equal(found?.action, 'reject')
    t.equal(total(0, found ?? {}), 8)
  })

  await t.test('is told of the envelope', async (t) => {
    const found = await said('From: Bob <eve@c.test>', 'To: info@a.test', 'Subject: hello', '', 'hello')
    const names = found?.symbols.map(({ name }) => name) ?? []
    t.match(names.join(' '), /FROM_NEQ_ENVFROM/)
    t.match(names.join(' '), /TO_MATCH_ENVRCPT_ALL/)
    const withoutTo = await said('From: Bob <eve@c.test>', 'To: nobody@d.test', 'Subject: hello', '', 'hello')
    t.notMatch(JSON.stringify(withoutTo), /TO_MATCH_ENVRCPT_ALL/, 'it knows the recipients')
  })

  await t.test('reads odd messages and odd envelopes without complaint', async (t) => {
    const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256))
    for (const raw of [Buffer.from('\r\n'), bytes]) t.not(await ask({ ...question, raw }), null)
    const nobody = { envelopeFrom: '', clientAddress: '2001:db8::1', helo: '[x]', reverseName: null }
    t.not(await ask({ ...question, origin: nobody, recipients: ['"a b"@a.test', 'grüße@a.test'] }), null)
  })

  t.same(log, [])
})
