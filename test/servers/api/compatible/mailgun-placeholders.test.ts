/** The placeholders of Mailgun: values of recipients, and links. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import {
  fillTexts,
  type Person,
  PersonalText,
  removeFieldLinks,
  replaceBodyLinks,
  requireFewPlaces,
  toPersonalFields,
} from '../../../../src/servers/api/compatible/mailgun-placeholders.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const bob: Person = {
  mailbox: { address: parseAddress('bob@b.test'), name: 'Bob B. Baker' },
  values: new Map([
    ['name', 'Bob'],
    ['v:id', '%recipient.name%'],
    ['empty', ''],
  ]),
}

t.test('values of the recipient take the places of their names', async (t) => {
  const fill = (text: string): string => new PersonalText(text).fill(bob)
  t.equal(fill('Hello %recipient.name%, %recipient.name%!'), 'Hello Bob, Bob!')
  t.equal(fill('%recipient.v:id%'), '%recipient.name%', 'a value is not searched')
  t.equal(fill('a%recipient.empty%b'), 'ab')
  t.equal(fill('100 %recipient.none% 5%'), '100 %recipient.none% 5%', 'what has no value stays')
  t.equal(
    fill('%recipient% %recipient_email% %recipient_name% %recipient_fname% %recipient_lname%'),
    'Bob B. Baker <bob@b.test> bob@b.test Bob B. Baker Bob B. Baker',
  )
})

t.test('a text has a limited number of places', async (t) => {
  t.equal(new PersonalText('%recipient.name%'.repeat(5_000)).fill(bob).length, 15_000)
  t.throws(() => new PersonalText('%recipient.name%'.repeat(5_001)), { name: 'Refusal', message: /more than 5000/ })
})

t.test('the places of a request, and what fills them, are limited', async (t) => {
  const text = '%recipient.a%'.repeat(5_000)
  const many = Array.from({ length: 300 }, (_, place): [string, string] => [`k${place}`, text])
  t.match(await catchRefusal(() => toPersonalFields(many)), {
    kind: 'invalid-parameter',
    message: /more than 20000 placeholders/,
  })
  const few = new PersonalText(text)
  t.doesNotThrow(() => requireFewPlaces([few], 200))
  t.match(await catchRefusal(() => requireFewPlaces([few], 201)), { kind: 'invalid-parameter' })
  const long = { ...bob, values: new Map([['a', 'x'.repeat(1_000_000)]]) }
  t.match(
    await catchRefusal(() => new PersonalText('%recipient.a%'.repeat(20)).fill(long)),
    { kind: 'too-large' },
    'before it is built',
  )
})

t.test('texts within JSON are filled', async (t) => {
  const given = { a: ['%recipient.name%', 1, null], b: { c: 'to %recipient_email%' }, d: true }
  t.same(fillTexts(given, bob), { a: ['Bob', 1, null], b: { c: 'to bob@b.test' }, d: true })
})

t.test('links of the service become ours, or are left out', async (t) => {
  t.equal(
    replaceBodyLinks('<a href="%unsubscribe_url%">a</a> %mailing_list_unsubscribe_url% %tag_unsubscribe_email%.'),
    '<a href="{{unsubscribe_url}}">a</a> {{unsubscribe_url}} .',
  )
  t.equal(replaceBodyLinks('%unsubscribe_email%'.repeat(5_000)), '')
  for (const written of ['%unsubscribe_url%', '%tag_unsubscribe_email%']) {
    t.match(await catchRefusal(() => replaceBodyLinks(written.repeat(5_001))), {
      kind: 'invalid-parameter',
      message: /more than 5000 links/,
    })
  }
  t.equal(removeFieldLinks('<https://a.test/u?a=1,2>, <%tag_unsubscribe_email%>'), '<https://a.test/u?a=1,2>')
  t.equal(removeFieldLinks('<https://a.test/u?a=1,2>'), '<https://a.test/u?a=1,2>')
  t.equal(removeFieldLinks('<mailto:%unsubscribe_email%?subject=u>, <%unsubscribe_url%>'), '')
})
