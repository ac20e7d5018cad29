/** The document that the processes make of a message: which pictures are in it, and that its length is bounded. */
import t from 'tap'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { messageRenderer } from '../../../../src/servers/api/message-views/message-html.js'

interface Picture {
  readonly id: string
  readonly bytes?: Buffer
  readonly type?: string
}

function messageOf(html: string, pictures: readonly Picture[] = []): Buffer {
  const parts = pictures.map(({ id, bytes = Buffer.from(id), type = 'image/png' }) => [
    ...['--b', `Content-Type: ${type}`, `Content-ID: <${id}>`, 'Content-Transfer-Encoding: base64', ''],
    bytes.toString('base64').replace(/.{76}/g, '$&\r\n'),
  ])
  const head = ['From: a@b.test', 'MIME-Version: 1.0', 'Content-Type: multipart/related; boundary=b', '', '--b']
  const body = ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: base64', '']
  const lines = [...head, ...body, Buffer.from(html).toString('base64').replace(/.{76}/g, '$&\r\n'), ...parts.flat()]
  return Buffer.from([...lines, '--b--', ''].join('\r\n'))
}

const show = async (raw: Buffer): Promise<string> =>
  (await messageRenderer.render(raw, { kind: 'message', tracked: null })).toString()

const urlOf = (text: string): string => `data:image/png;base64,${Buffer.from(text).toString('base64')}`

t.test('a picture stands wherever the HTML names it, however its id is written', async (t) => {
  const pictures = [{ id: 'a@x' }, { id: 'b%c' }, { id: 'a@x', bytes: Buffer.from('second') }]
  const html =
    '<img src="cid:a@x"><td background=cid:a%40x><img src="CID:b%25c"><img src="cid:b%c"><img src="cid:none">'
  const shown = [urlOf('a@x'), urlOf('a@x'), urlOf('b%c'), urlOf('b%c')]
  const expected = `<img src="${shown[0]}"><td background=${shown[1]}><img src="${shown[2]}"><img src="${shown[3]}">`
  t.equal(await show(messageOf(html, pictures)), `${expected}<img src="cid:none">`)
  const others = [
    { id: 'a', type: 'image/svg+xml' },
    { id: 'b', bytes: Buffer.alloc(262_145) },
  ]
  t.equal(await show(messageOf('<img src="cid:a"><img src="cid:b">', others)), '<img src="cid:a"><img src="cid:b">')
})

t.test('however often pictures are named, each stands once, and again within 1 MB', async (t) => {
  const pictures = Array.from({ length: 4 }, (_, n) => ({ id: `p${n}`, bytes: Buffer.alloc(262_144, n) }))
  const html = `${'cid:p0 '.repeat(1_400)}${'cid:p1 cid:p2 cid:p3 '.repeat(40_000)}`
  const shown = await show(messageOf(html, pictures))
  const [inserted, left] = [shown.match(/data:/g)?.length, shown.match(/cid:p/g)?.length]
  // A URL has 349,550 characters: two more fit the megabyte.
  t.same([inserted, left], [4 + 2, 121_400 - 6])
  for (const { bytes } of pictures) t.ok(shown.includes(bytes.toString('base64')))
})

t.test('malformed percent signs stay as they are', async (t) => {
  const html = 'cid:%zz cid:%e4 cid:% cid:a%'
  t.equal(await show(messageOf(html, [{ id: 'a' }])), html)
})

t.test('HTML that is too long, or missing, is replaced by a note; frames and links are disarmed', async (t) => {
  t.match(await show(messageOf('x'.repeat(1_000_001))), 'too long to be shown')
  t.equal((await show(messageOf('x'.repeat(1_000_000)))).length, 1_000_000)
  t.match(await show(Buffer.from('From: a@b.test\r\n\r\ntext\r\n')), 'has no HTML')
  t.equal(await show(messageOf('<iframe src=x>')), '<noframes src=x>')
  const preview = await messageRenderer.render(Buffer.from('<link rel=x>é'), { kind: 'html', scheme: 'light' })
  t.match(preview.toString(), /^<basefont rel=x>é<style>/)
})

t.test('what tracking changed is changed back before anything else', async (t) => {
  const id = '0'.repeat(36)
  const html = `<a href="https://mail.test/v1/track/click/${id}">x</a>`
  const tracked = { emailId: 'em_1', edits: toJson([`${id} "cid:a"`]) }
  const bytes = await messageRenderer.render(messageOf(html, [{ id: 'a' }]), { kind: 'message', tracked })
  t.equal(bytes.toString(), `<a href="${urlOf('a')}">x</a>`)
})
