/** Attachments of inbound emails and their signed links. */
import t, { type Test } from 'tap'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { storeInbound } from '../../../../src/records/messages/inbound/inbound-email.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'

interface Attachment {
  readonly id: string
  readonly download_url: string
  readonly expires_at: string
}

/** The path of a listed attachment behind the public address. */
const pathOf = ({ download_url: url }: Attachment): string => url.replace('https://mail.service.test', '')

const withFiles = Buffer.from(
  [
    'From: bob@b.test',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/html',
    'Content-Disposition: attachment; filename="../../page.html"',
    '',
    '<script>alert(1)</script>',
    '--x',
    'Content-Type: image/png',
    "Content-Disposition: inline; filename*=utf-8''%E2%82%AC%20logo.png",
    'Content-ID: <logo@b.test>',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('PNG!').toString('base64'),
    '--x',
    'Content-Type: message/rfc822',
    '',
    'Subject: inner',
    '',
    'inner text',
    '--x--',
    '',
  ].join('\r\n'),
)

async function fileWithAttachments(t: Test): Promise<{ app: TestDaemon; id: string; data: readonly Attachment[] }> {
  const app = await testDaemon(t)
  const id = uuidv7(app.now())
  const email = inboundMail({ id, workspace_id: app.workspaceId, received_at: app.now() })
  await app.daemon.database.commit(storeInbound(email, withFiles))
  const answer = await app.rest('GET', `/v1/inbound/${id}/attachments`)
  t.equal(answer.status, 200)
  t.same(schemaCheck(app.daemon.routes)('GET /inbound/:id/attachments', answer), [])
  return { app, id, data: answer.json<{ data: Attachment[] }>().data }
}

t.test('attachments are listed with links that need no key and are valid for an hour', async (t) => {
  const { app, id, data } = await fileWithAttachments(t)
  t.match(data, [
    {
      id: `${id}.0`,
      filename: '../../page.html',
      content_type: 'text/html',
      content_disposition: 'attachment',
      content_id: null,
      size: 25,
    },
    {
      id: `${id}.1`,
      filename: '€ logo.png',
      content_type: 'image/png',
      content_disposition: 'inline',
      content_id: 'logo@b.test',
      size: 4,
    },
    { id: `${id}.2`, filename: 'attachment-3.eml', content_type: 'message/rfc822', size: 28 },
  ])
  const [page, logo, inner] = data
  if (page === undefined || logo === undefined || inner === undefined) throw new Error('three attachments')
  t.match(page.download_url, new RegExp(`^https://mail\\.service\\.test/v1/inbound/${id}/attachments/0\\?`))
  const life = Date.parse(page.expires_at) - app.now()
  t.ok(life > 3_000_000 && life <= 3_600_000, `${life} ms`)

  const image = await app.rest('GET', pathOf(logo), { key: null })
  t.same([image.status, image.text], [200, 'PNG!'])
  t.match(image.headers, {
    'content-type': 'image/png',
    'content-length': '4',
    'content-disposition': 'attachment; filename="_ logo.png"; filename*=UTF-8\'\'%E2%82%AC%20logo.png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'x-ratelimit-limit': /\d/,
  })
  const html = await app.rest('GET', pathOf(page), { key: null })
  t.equal(html.text, '<script>alert(1)</script>')
  t.match(html.headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="_.._page.html"',
  })
  const message = await app.rest('GET', pathOf(inner), { key: 'ph_wrong' })
  t.same([message.status, message.text], [200, 'Subject: inner\r\n\r\ninner text'], 'a wrong key is not looked at')

  app.advance(3_600_000)
  const late = await app.rest('GET', pathOf(logo), { key: null })
  t.equal(late.status, 403)
  t.match(late.json(), { error: { code: 'insufficient_permissions', message: /expired/ } })
  t.same(app.errors, [])
})

t.test('a link is valid for its own attachment only, and ends with its email', async (t) => {
  const { app, id, data } = await fileWithAttachments(t)
  const [page] = data
  if (page === undefined) throw new Error('an attachment')
  const path = pathOf(page)
  const other = uuidv7(app.now())
  const changed = [
    path.replace('/attachments/0', '/attachments/1'),
    path.replace('/attachments/0', '/attachments/00'),
    path.replace(id, other),
    path.replace(app.workspaceId, app.otherWorkspaceId),
    path.replace(/expires=(\d+)/, (_, at: string) => `expires=${Number(at) + 1}`),
    path.replace(/signature=(.)/, (_, first: string) => `signature=${first === '-' ? '_' : '-'}`),
    path.replace(/.$/, ''),
    path.replace(/signature=.*/, 'signature='),
    // The same bytes to a lenient reader of base64.
    `${path}%3D`,
    `${path}!`,
    path.replace('signature=', 'signature=%20'),
  ]
  for (const wrong of changed) {
    const answer = await app.rest('GET', wrong, { key: null })
    t.same(
      [answer.status, answer.json<{ error: { code: string } }>().error.code],
      [403, 'insufficient_permissions'],
      wrong,
    )
  }
  const longer = await app.rest('GET', path.replace('expires=', 'expires=0'), { key: null })
  t.match([longer.status, longer.json()], [400, { error: { code: 'validation_error' } }])
  const bare = await app.rest('GET', path.replace(/&signature=.*/, ''), { key: null })
  t.match([bare.status, bare.json()], [400, { error: { code: 'missing_required_field' } }])
  const route = app.daemon.routes.find((it) => it.path === '/inbound/:id/attachments/:place')
  t.ok(route?.refusals.includes('missing_required_field'), 'and is documented')
  t.equal((await app.rest('GET', path, { key: null })).status, 200)
  await app.daemon.database.commit([{ sql: 'delete from inbound_raw where inbound_id = ?', parameters: [id] }])
  t.equal((await app.rest('GET', path, { key: null })).status, 404, 'bytes are kept for a time')
  t.same((await app.rest('GET', `/v1/inbound/${id}/attachments`)).json(), { data: [] })
  await app.rest('DELETE', `/v1/inbound/${id}`)
  const gone = await app.rest('GET', path, { key: null })
  t.match([gone.status, gone.json()], [404, { error: { code: 'not_found', details: { id } } }])
  t.same(app.errors, [])
})

t.test('the largest attachment that is accepted is returned unchanged', async (t) => {
  const app = await testDaemon(t)
  const id = uuidv7(app.now())
  const line = Buffer.alloc(57, 'posthorn')
  const count = 400_000
  const head = 'Content-Type: application/zip; name=large.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  const large = Buffer.from(head + `${line.toString('base64')}\r\n`.repeat(count))
  await app.daemon.database.commit(storeInbound(inboundMail({ id, workspace_id: app.workspaceId }), large))
  const [file] = (await app.rest('GET', `/v1/inbound/${id}/attachments`)).json<{ data: Attachment[] }>().data
  if (file === undefined) throw new Error('an attachment')
  const answer = await app.rest('GET', pathOf(file), { key: null })
  t.equal(answer.status, 200)
  t.ok(answer.text === line.toString('latin1').repeat(count), 'byte by byte')
  t.same(app.errors, [])
})
