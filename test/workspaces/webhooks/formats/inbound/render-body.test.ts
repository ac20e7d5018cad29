/** Bodies that are made from a message: documents, forms, and what Postmark sends. */
import t from 'tap'
import { messageRenderer } from '../../../../../src/workspaces/webhooks/formats/inbound/render-body.js'

const lines = (...all: readonly string[]): Buffer => Buffer.from([...all, ''].join('\r\n'), 'latin1')
const plain = lines('From: Ann <ann@b.test>', 'To: x+1@home.test', 'Subject: hi', '', 'text')

t.test('a document gets the content at the end of its data', async (t) => {
  const document = '{"id":"evt_1","data":{"subject":"hi"}}'
  const render = (content: 'parsed' | 'raw'): { readonly data: object } =>
    JSON.parse(messageRenderer.render(plain, { kind: 'document', document, content }).toString())
  t.same(render('raw'), { id: 'evt_1', data: { subject: 'hi', raw: plain.toString('base64') } })
  t.match(render('parsed').data, { subject: 'hi', html: null, text: /^text/, headers: [{ name: 'From' }, {}, {}] })
})

t.test('a form has the bytes of a message in UTF-8, and replaces others', async (t) => {
  const facts = { kind: 'form', boundary: 'b', fields: [['to', 'x']], messageField: 'email' } as const
  const form = (raw: Buffer): string => messageRenderer.render(raw, facts).toString()
  const head = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\nx\r\n'
  const open = '--b\r\nContent-Disposition: form-data; name="email"\r\n\r\n'
  t.equal(form(plain), `${head}${open}${plain}\r\n--b--\r\n`)
  t.match(form(lines('Subject: x', '', 'caf\xe9')), 'caf\ufffd')
})

t.test("the sender's fields about spam and SPF do not pass for ours", async (t) => {
  const forged = lines('From: a@b.test', 'X-Spam-Status: No', 'X-Other: 1', 'Subject: hi', '', 'text')
  const headers = [{ Name: 'X-Spam-Status', Value: 'Yes' }]
  const facts = { kind: 'postmark', fields: { MessageID: 'm' }, headers, hasRaw: true } as const
  const body = JSON.parse(messageRenderer.render(forged, facts).toString())
  t.same(body.Headers, [...headers, { Name: 'X-Other', Value: '1' }])
  t.match(body, { MessageID: 'm', From: 'a@b.test', Attachments: [], RawEmail: forged.toString() })
})
