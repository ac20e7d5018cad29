/** The form of Mailgun's clients: how its fields become values. */
import t from 'tap'
import {
  collectMailgunFields,
  mailgunAddresses,
  mailgunFields,
} from '../../../../src/servers/api/compatible/mailgun-fields.js'

function addressesOf(...texts: readonly string[]): readonly string[] {
  return mailgunAddresses.parse(texts).map(({ name, address }) => (name === '' ? address : `${name} <${address}>`))
}

t.test('addresses are divided at commas, but not within names', async (t) => {
  t.same(addressesOf('a@b.test,  "Bob, \\"B\\"" <c@d.test>,', '<e@f.test>'), [
    'a@b.test',
    'Bob, "B" <c@d.test>',
    'e@f.test',
  ])
  t.same(addressesOf(`${'x'.repeat(40)}@b.test,`.repeat(900)).length, 900, 'a long list')
  t.same(addressesOf(''), [])
  for (const wrong of [
    'nobody',
    'a@b.test c@d.test',
    `${'x'.repeat(1_000)}@b.test`,
    'a@b.test;c@d.test',
    'a@',
    '@b.test',
  ]) {
    t.equal(mailgunAddresses.safeParse([wrong]).success, false, wrong)
  }
})

t.test('fields that may occur several times are lists, and others have their last value', async (t) => {
  const fields = new Map([
    ['to', ['a', 'b']],
    ['to[1]', ['c']],
    ['subject', ['one', 'two']],
    ['o:testmode', ['']],
    ['text', ['']],
    ['h:X-A', ['1', '2']],
    ['v:__proto__', ['3']],
    ['__proto__', ['4']],
    ['hx', ['5']],
  ])
  const file = { field: 'attachment[0]', filename: '', contentType: 'text/plain', content: Buffer.from('a') }
  const collected = collectMailgunFields({ fields, files: [file] })
  t.match(collected, {
    to: ['a', 'b', 'c'],
    subject: 'two',
    text: '',
    h: { 'X-A': '2' },
    attachment: [{ filename: 'file' }],
  })
  t.equal(collected['o:testmode'], undefined, 'an empty option counts as absent')
  t.same(Object.keys(collected['v'] as object), ['__proto__'])
})

t.test('times and switches in the forms of clients', async (t) => {
  const base = { from: 'a@b.test', to: ['c@d.test'] }
  const times = ['Thu, 31 Jan 2030 09:00:00 +0000', '2030-01-31T09:00:00Z', '1896080400']
  for (const time of times) {
    t.equal(mailgunFields.parse({ ...base, 'o:deliverytime': time })['o:deliverytime'], '2030-01-31T09:00:00.000Z')
  }
  const words = ['yes', 'True', '1', 'htmlonly', 'no', 'FALSE', '0']
  t.same(
    words.map((word) => mailgunFields.parse({ ...base, 'o:tracking': word })['o:tracking']),
    [true, true, true, true, false, false, false],
  )
  t.equal(mailgunFields.safeParse({ ...base, 'o:deliverytime': '999999999999999' }).success, false)
})
