/** Requests to the REST listener: JSON, forms, header fields, cookies, URLs, and raw bytes over a socket. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { parseRspamdVerdict } from '../../../../src/inbound/spam/rspamd/rspamd-answer.js'
import { readClientHello } from '../../../../src/operations/certificates/client-hello.js'
import { isMachineAgent } from '../../../../src/outbound/tracking/machine.js'
import { toLocation } from '../../../../src/outbound/tracking/resolve-click.js'
import { json } from '../../../../src/servers/api/http/answer.js'
import { findClientAddress, isForeignOrigin } from '../../../../src/servers/api/http/context/request-source.js'
import { acceptsGzip, chooseEncoding } from '../../../../src/servers/api/http/input/accept-encoding.js'
import { findRequestedPart } from '../../../../src/servers/api/http/input/byte-range.js'
import { parseCallbackBody } from '../../../../src/servers/api/http/input/callback-fields.js'
import { checkShape, MAX_DEPTH, parseJsonBody } from '../../../../src/servers/api/http/input/json-body.js'
import { bodyPace } from '../../../../src/servers/api/http/input/read-body.js'
import { openUpload } from '../../../../src/servers/api/http/input/upload.js'
import {
  formatContentDisposition,
  sanitizeFileName,
} from '../../../../src/servers/api/http/output/content-disposition.js'
import { readBrowserToken } from '../../../../src/servers/api/http/pipeline/session-identity.js'
import { uploadRoute } from '../../../../src/servers/api/http/route/route.js'
import { findUrlFault } from '../../../../src/workspaces/webhooks/webhook-url.js'
import { findFaults, startTestApi, type TestApi, testRoutes } from '../../http/test-api.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { Teardowns } from '../teardowns.js'
import { isRefusal } from './refusals.js'

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function readJson(input: Buffer): void {
  parseCallbackBody(input)
  parseRspamdVerdict(input.toString())
  checkShape(input)
  const value = parseJsonBody(input)
  checkEqual(value, JSON.parse(input.toString()), 'JSON is what JSON.parse says')
  check(depthOf(value) <= MAX_DEPTH, 'JSON is not deeper than its limit')
}

function readFields(input: Buffer): void {
  const text = input.toString()
  acceptsGzip(text)
  chooseEncoding(text)
  const part = findRequestedPart({ range: text, ifRange: undefined }, 1_000, '"e"')
  if (part.kind === 'range')
    check(part.from >= 0 && part.from <= part.to && part.to < 1_000, 'a range is within the file')
  check(/^[\x20-\x7e]+$/.test(formatContentDisposition(text)), 'a disposition is printable ASCII')
  const name = sanitizeFileName(text)
  checkEqual(sanitizeFileName(name), name, 'a safe name stays')
  check(name !== '' && Buffer.byteLength(name) <= 220 && !/[/\\\p{Cc}]/u.test(name), 'a name has no folder')
  const cookie = readBrowserToken(text)
  check(cookie === null || /^[\w-]{43}$/.test(cookie), 'a cookie has its form')
  const address = findClientAddress({ address: '192.0.2.1', trusted: true, tls: false }, text, () => true)
  check(/^[0-9a-f.:]+$/.test(address), 'a client is an address')
  isForeignOrigin(text, 'a.test', 'https')
  isMachineAgent(text)
  const location = toLocation(text)
  check(location === null || /^https?:\/\/[!-~]+$/i.test(location), 'a Location is visible ASCII')
  if (findUrlFault(text) === null) check(URL.canParse(text), 'the URL of a webhook is a URL')
}

async function readForm(input: Buffer): Promise<void> {
  const request = new IncomingMessage(new Socket())
  request.headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': String(input.length) }
  request.complete = true
  request.push(input)
  request.push(null)
  let size = 0
  const limit = { bytes: 100_000, tooLarge: 'attachment-too-large' } as const
  const upload = { limit, pace: bodyPace, reauthorize: async () => undefined }
  const { file, end } = await openUpload(request, new ServerResponse(request), upload)
  try {
    for await (const chunk of file.bytes) size += chunk.length
  } finally {
    end()
  }
  check(size <= input.length, 'a file is not larger than its form')
  check(file.filename === null || !/[/\\]/.test(file.filename), 'a file name has no folder')
}

let api: TestApi | null = null
let teardowns = new Teardowns()
let requests = 0
const MAX_REQUESTS = 3_000

async function openApi(): Promise<void> {
  requests = 0
  teardowns = new Teardowns()
  const limit = { bytes: 100_000, tooLarge: 'attachment-too-large' } as const
  const about = { area: 'send', tag: 'test', summary: 'test', answers: {}, refusals: [] } as const
  const upload = uploadRoute({
    method: 'POST',
    path: '/files',
    ...about,
    file: { limit, description: '' },
    run: async ({ body: file }) => {
      for await (const _ of file.bytes);
      return json(200, {})
    },
  })
  api = await startTestApi(teardowns, {
    listen: [{ kind: 'http', host: '127.0.0.1', port: 0 }],
    routes: [...testRoutes, upload],
    requests: 1e9,
    unauthenticatedRequests: 1e9,
  })
}

const closeApi = (): Promise<void> => teardowns.run()

/** Every answer is HTTP, none says that something is broken here. */
async function sendRequest(input: Buffer): Promise<void> {
  // The log of the test listener keeps every line.
  if (++requests > MAX_REQUESTS) {
    await closeApi()
    await openApi()
  }
  if (api === null) throw new Error('not open')
  const answer = await exchange(api.port(), input)
  check(answer === '' || answer.startsWith('HTTP/1.1 '), 'an answer is HTTP')
  check(!/^HTTP\/1\.1 500/m.test(answer), 'no answer is 500')
  const faults = findFaults(api.log).map(({ msg }) => msg)
  // So many sessions of one client are more than its lines in the log may be.
  checkEqual(
    faults.filter((msg) => msg !== 'lines about clients were left out'),
    [],
    'no fault is logged',
  )
}

function exchange(port: number, input: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => socket.end(input))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

const boundary =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
const key = 'Authorization: Bearer ph_own\r\n'

export const httpTargets: readonly FuzzTarget[] = [
  {
    name: 'json',
    checks: 'what JSON.parse says; depth',
    seeds: [
      '{"a":[1,"x\\"\\\\",{"b":null}],"c":1e9}',
      '{"score":5,"action":"reject","symbols":{"A":{"score":1,"description":"x"}}}',
      '[[[[]]]]',
      '"\\ud83d\\ude00"',
    ],
    words: ['"', '\\"', '\\', '[', ']', '{', '}', ':', ',', '\\u0000', '\\ud800', '__proto__', '1e999', '-0', 'null'],
    run: readJson,
    refuses: isRefusal,
  },
  {
    name: 'http-fields',
    checks: 'ranges within the file; safe file names; printable values',
    seeds: [
      'gzip;q=0.5, br, *;q=0',
      'bytes=0-499',
      'bytes=-5',
      'réport "x"/..\\con.txt',
      `__Host-posthorn-browser=${'a'.repeat(43)}; b=c`,
      '192.0.2.1, [2001:db8::1]:80',
      'https://a.test:443',
      'http://0x7f.1/',
      'Mozilla/5.0 (compatible; bot/1.0; +http://b.test)',
    ],
    words: [
      'bytes=',
      ',',
      ';q=',
      '-',
      '__Host-posthorn-browser=',
      '..',
      '/',
      '\\',
      'CON',
      '.txt',
      '\u202e',
      'https://',
      '%0d%0a',
      '@',
      '#',
      '[',
      ']',
      'é',
    ],
    maxSize: 16_384,
    run: readFields,
  },
  {
    name: 'multipart',
    checks: 'refused as documented; a file name has no folder',
    seeds: [
      `${boundary}email\r\na@b.test\r\n--b--\r\n`,
      '--b\r\nContent-Disposition: form-data; name=file; filename*=UTF-8\'\'a%2Fb\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--',
    ],
    words: [
      '--b',
      '--b--',
      '\r\n',
      '\r\n\r\n',
      'Content-Disposition: form-data; ',
      'name="file"',
      'filename="',
      "filename*=UTF-8''",
      '"',
      '%2F',
      '\0',
      'Content-Transfer-Encoding: base64',
    ],
    waits: true,
    run: readForm,
    refuses: isRefusal,
  },
  {
    name: 'http-requests',
    checks: 'every answer is HTTP, none is 500, no fault is logged',
    seeds: [
      `POST /v1/things HTTP/1.1\r\nHost: localhost\r\n${key}Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text":"x"}GET /v1/things/search?word=a%20b HTTP/1.1\r\nHost: x\r\n${key}\r\n`,
      `POST /v1/things HTTP/1.1\r\nHost: localhost\r\n${key}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"text":"x"}\r\n0\r\n\r\n`,
      `POST /v1/files HTTP/1.1\r\nHost: localhost\r\n${key}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${boundary.length + 9}\r\nExpect: 100-continue\r\n\r\n${boundary}x\r\n--b--`,
      'GET /v1/things/%2e%2e/a HTTP/1.0\r\nCookie: a=b\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    ],
    words: [
      'GET ',
      'POST ',
      'HEAD ',
      ' HTTP/1.1\r\n',
      'Host: a\r\n',
      key,
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Encoding: gzip\r\n',
      'Expect: 100-continue\r\n',
      'Connection: close\r\n',
      'Upgrade: h2c\r\n',
      'Idempotency-Key: x\r\n',
      'X-Workspace-Id: ws\r\n',
      'X-Forwarded-For: 192.0.2.1\r\n',
      '/v1/things',
      '%',
      '%00',
      '?',
      '&',
      '//',
      '\r\n\r\n',
      '0\r\n\r\n',
      '{"text":',
    ],
    maxSize: 16_384,
    waits: true,
    maxTime: 3_000,
    open: openApi,
    close: closeApi,
    run: sendRequest,
  },
  {
    name: 'client-hello',
    checks: 'a verdict for any bytes',
    seeds: [
      Buffer.from(
        '16030100350100003103030000000000000000000000000000000000000000000000000000000000000000000000021301010000060010000b',
        'hex',
      ),
      Buffer.from('160301000101', 'hex'),
    ],
    words: ['\x16\x03\x01', '\0\x10', '\0\0', 'acme-tls/1', '\x0aacme-tls/1', '\0\x0c\0\x0a', '\xff\xff'],
    maxSize: 20_000,
    run: (input) => void readClientHello(input),
  },
]
