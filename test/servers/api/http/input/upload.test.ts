/** Uploads: accepted forms, limits, aborted transfers, keys that are revoked during the upload. */
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Refusal } from '../../../../../src/base/mail/refusal.js'
import { json } from '../../../../../src/servers/api/http/answer.js'
import type { UploadedFile } from '../../../../../src/servers/api/http/input/upload.js'
import { type Call, type Route, uploadRoute } from '../../../../../src/servers/api/http/route/route.js'
import {
  findFaults,
  startTestApi,
  type TestApi,
  type TestApiOptions,
  withKey,
} from '../../../../helpers/http/test-api.js'
import type { WireAnswer } from '../../../../helpers/http/wire.js'
import { waitUntil } from '../../../../helpers/wait-until.js'

const LIMIT = 100_000

interface Taken {
  bytes: number
  outcome: 'reading' | 'whole' | 'broken'
}

/** A listener whose one route accepts files; `taken` is the result of each. */
async function startUploadApi(
  t: Test,
  options: TestApiOptions = {},
): Promise<{ api: TestApi; taken: readonly Taken[] }> {
  const taken: Taken[] = []
  const receive = async ({ body: file }: UploadCall) => {
    const one: Taken = { bytes: 0, outcome: 'reading' }
    taken.push(one)
    try {
      for await (const chunk of file.bytes) one.bytes += chunk.length
      one.outcome = 'whole'
    } catch (error) {
      one.outcome = 'broken'
      throw error
    }
    return json(200, { filename: file.filename, type: file.contentType, bytes: one.bytes })
  }
  return { api: await startTestApi(t, { ...options, routes: [fileRoute(receive)] }), taken }
}

type UploadCall = Call<undefined, UploadedFile>

function fileRoute(run: (call: UploadCall) => Promise<ReturnType<typeof json>>): Route {
  const limit = { bytes: LIMIT, tooLarge: 'attachment-too-large' } as const
  const about = { area: 'send', tag: 'test', summary: 'test', answers: {}, refusals: [] } as const
  return uploadRoute({ method: 'POST', path: '/files', ...about, file: { limit, description: '' }, run })
}

const BOUNDARY = 'xyz'
const formType = `Content-Type: multipart/form-data; boundary=${BOUNDARY}`
const start = (head = 'name="file"; filename="a.txt"', more = ''): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n${more}\r\n`
const end = `\r\n--${BOUNDARY}--\r\n`
const partOf = (content: string, head?: string, more?: string): string => `${start(head, more)}${content}`

function upload(api: TestApi, body: string, ...fields: readonly string[]): Promise<WireAnswer> {
  return send(api, body, [withKey, formType, ...fields])
}

async function send(api: TestApi, body: string, fields: readonly string[]): Promise<WireAnswer> {
  const wire = await api.connect()
  wire.send(head(fields, Buffer.byteLength(body)) + body)
  const answer = await wire.answer()
  wire.socket.destroy()
  return answer
}

function head(fields: readonly string[], length: number): string {
  return ['POST /v1/files HTTP/1.1', 'Host: localhost', ...fields, `Content-Length: ${length}`, '', ''].join('\r\n')
}

const codeOf = ({ body }: WireAnswer): string => (JSON.parse(body) as { error: { code: string } }).error.code

interface ErrorBody {
  readonly error: { readonly details?: { readonly errors?: readonly { readonly field: string }[] } }
}

const firstErrorOf = ({ body }: WireAnswer): { readonly field: string } | undefined =>
  (JSON.parse(body) as ErrorBody).error.details?.errors?.[0]

t.test('a file comes with its name and its type', async (t) => {
  const { api } = await startUploadApi(t)
  const rows: readonly (readonly [body: string, expected: object])[] = [
    [partOf('abc') + end, { filename: 'a.txt', type: 'text/plain', bytes: 3 }],
    [
      partOf('', 'name=file; filename="C:\\\\x\\\\ü.csv"', 'Content-Type: Text/CSV\r\n') + end,
      { type: 'text/csv', bytes: 0 },
    ],
    [partOf('a', 'name="file"', 'Content-Type: application/octet-stream\r\n') + end, { filename: null, bytes: 1 }],
    [partOf('\r\n--xy\r\n') + end, { bytes: 8 }],
    [partOf('x'.repeat(LIMIT)) + end, { bytes: LIMIT }],
  ]
  for (const [body, expected] of rows) {
    const answer = await upload(api, body)
    t.equal(answer.status, 200, answer.body)
    t.match(JSON.parse(answer.body), expected)
  }
})

t.test('another form is refused with the reason', async (t) => {
  const { api, taken } = await startUploadApi(t)
  const rows: readonly (readonly [status: number, code: string, body: string])[] = [
    [400, 'missing_required_field', `--${BOUNDARY}--\r\n`],
    [400, 'validation_error', ''],
    [400, 'validation_error', 'nothing of the kind'],
    [400, 'validation_error', partOf('abc')],
    [400, 'validation_error', partOf('abc', 'name="other"; filename="a"') + end],
    [400, 'validation_error', partOf('abc', 'name="file"') + end],
    [400, 'validation_error', `${partOf('abc')}\r\n${partOf('def')}${end}`],
    [400, 'validation_error', `${partOf('abc')}\r\n${partOf('x', 'name="note"')}${end}`],
    [400, 'attachment_too_large', partOf('x'.repeat(LIMIT + 1)) + end],
    [400, 'attachment_too_large', partOf('x'.repeat(LIMIT * 40)) + end],
  ]
  for (const [status, code, body] of rows) {
    const answer = await upload(api, body)
    t.same([answer.status, codeOf(answer)], [status, code], `${body.slice(0, 60)}: ${answer.body}`)
    t.type(firstErrorOf(answer)?.field, 'string', answer.body)
  }
  t.notOk(
    taken.some(({ outcome }) => outcome !== 'broken'),
    'nothing of it was taken for whole',
  )
  for (const fields of [['Content-Type: application/json'], ['Content-Type: multipart/form-data'], []]) {
    t.equal(codeOf(await send(api, partOf('abc') + end, [withKey, ...fields])), 'unsupported_media_type')
  }
  t.equal(codeOf(await upload(api, partOf('abc') + end, 'Content-Encoding: gzip')), 'unsupported_media_type')
  t.equal((await send(api, partOf('abc') + end, [formType])).status, 401)
  const reader = await send(api, partOf('abc') + end, [formType, 'Authorization: Bearer ph_reader'])
  t.equal(codeOf(reader), 'insufficient_permissions')
  t.equal((await upload(api, partOf('abc') + end)).status, 200)
})

t.test('an aborted or slow upload leaves nothing behind', async (t) => {
  const { api, taken } = await startUploadApi(t, { pace: { patience: 300, bytesPerSecond: 1_000 } })
  const gone = await api.connect()
  gone.send(head([withKey, formType], 500) + partOf('abc'))
  await waitUntil('the beginning', () => taken[0]?.bytes === 3)
  gone.socket.destroy()
  await waitUntil('its end', () => taken[0]?.outcome === 'broken')
  const slow = await api.connect()
  slow.send(head([withKey, formType], 50_000) + partOf('abc'))
  t.equal((await slow.answer()).status, 408)
  t.equal(taken[1]?.outcome, 'broken')
  t.same(findFaults(api.log), [], 'and is no fault of ours')
})

t.test('a key that is revoked during an upload discards the file', async (t) => {
  let revoked = false
  const keyCheck = (): void => {
    if (revoked) throw new Refusal('bad-credentials', 'the key is revoked')
  }
  const { api, taken } = await startUploadApi(t, { keyCheck })
  const wire = await api.connect()
  const form = partOf('abc') + end
  wire.send(head([withKey, formType], form.length) + form.slice(0, -5))
  await waitUntil('the beginning', () => taken[0]?.bytes === 3)
  revoked = true
  wire.send(form.slice(-5))
  t.equal((await wire.answer()).status, 401)
  t.equal(taken[0]?.outcome, 'broken')
})

t.test(
  '100 Continue is sent only when the upload is allowed, and the connection stays usable after a file',
  async (t) => {
    const { api } = await startUploadApi(t)
    const form = partOf('abc') + end
    const wire = await api.connect()
    wire.send(head([withKey, formType, 'Expect: 100-continue'], form.length))
    t.equal((await wire.answer()).status, 100)
    wire.send(form)
    t.equal((await wire.answer()).status, 200)
    wire.send(head([withKey, formType], form.length) + form)
    t.equal((await wire.answer()).status, 200)
    wire.send(head([withKey, formType, 'Expect: 100-continue'], LIMIT * 2))
    t.equal(codeOf(await wire.answer()), 'attachment_too_large')
  },
)

t.test('a file is not read faster than it is consumed', async (t) => {
  let go: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  let come = 0
  const receive = async ({ body: file }: UploadCall) => {
    for await (const chunk of file.bytes) {
      come += chunk.length
      await gate
    }
    return json(200, { come })
  }
  const api = await startTestApi(t, { routes: [fileRoute(receive)] })
  const answer = upload(api, partOf('x'.repeat(LIMIT)) + end)
  await waitUntil('the beginning', () => come > 0)
  const first = come
  await wait(20)
  t.equal(come, first)
  go()
  t.same(JSON.parse((await answer).body), { come: LIMIT })
})

t.test('any bytes in the place of a form lead to a refusal or a file', async (t) => {
  const { api } = await startUploadApi(t)
  const piece = fc.oneof(
    fc.constantFrom(
      '--xyz',
      '--xyz--',
      '\r\n',
      '\r\n\r\n',
      'Content-Disposition: form-data; name="file"; filename="a"',
      '--',
    ),
    fc.string(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const { status } = await upload(api, pieces.join(''))
      return status === 200 || status === 400
    }),
    { numRuns: 150 },
  )
  t.same(findFaults(api.log), [])
})
