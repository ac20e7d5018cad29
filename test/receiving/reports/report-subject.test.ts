/** What a report's subject says itself decides; words that it quotes do not. */
import t from 'tap'
import { ownWordsOf, reportsSuccess } from '../../../src/receiving/reports/report-subject.js'
import { bouncesOf, readMail, summarizeBounce } from '../../helpers/receiving/report-mail.js'

t.test('the subject of the message is no part of what its report says', async (t) => {
  const cases: readonly (readonly [subject: string, reported: string, own: string])[] = [
    ['Undeliverable: Your order has been received', '', 'Undeliverable'],
    ['Fwd: Undeliverable: It was delivered', '', 'Undeliverable'],
    ['[ext] Returned mail: see transcript for details', '', 'Returned mail'],
    ['Re: Delivery failure of parcel 7', '', 'Re'],
    ['Automatic reply: Your delivery failed', '', 'Automatic reply'],
    ['Your message "Successful delivery" has bounced', '', 'Your message   has bounced'],
    ['Your order was received', 'Your order was received', ''],
    ['Delivery Notification: Delivery has failed', '', 'Delivery Notification: Delivery has failed'],
    ['Delivery Status Notification (Success)', 'Hello', 'Delivery Status Notification (Success)'],
  ]
  for (const [subject, reported, own] of cases) t.equal(ownWordsOf(subject, reported).trim(), own, subject)
})

t.test('a denial is seen', async (t) => {
  const subjects: readonly (readonly [subject: string, isSuccess: boolean])[] = [
    ['Successful Mail Delivery Report', true],
    ['Delivery Status Notification (Success)', true],
    ['Your message was delivered', true],
    ['Delivery Status Notification (Relayed)', true],
    ['Your message has not been delivered', false],
    ['Message was not successfully relayed', false],
    ["Your message wasn't delivered", false],
    ['Unable to confirm that it was delivered', false],
    ['Unsuccessful delivery', false],
    ['Undelivered Mail: was received late', false],
  ]
  for (const [subject, isSuccess] of subjects) t.equal(reportsSuccess(subject), isSuccess, subject)
})

const from = 'From: Mail Delivery System <MAILER-DAEMON@relay.test>'

t.test('a failure whose subject quotes a success is a failure', async (t) => {
  const words = ['The recipient lena@mill.test could not be reached:', 'this e-mail account does not exist.']
  for (const subject of [
    'Undeliverable: Your order has been received',
    'Your message has not been delivered',
    'Message to lena@mill.test not successfully delivered',
  ]) {
    t.match(bouncesOf(readMail([from, `Subject: ${subject}`], words)), [
      { kind: 'permanent', recipient: 'lena@mill.test' },
    ])
  }
  const success = ['Your message was successfully delivered to lena@mill.test.']
  t.match(bouncesOf(readMail([from, 'Subject: Successful Mail Delivery Report'], success)), [{ kind: 'delivered' }])
})

t.test('a warning is no bounce, with or without a phrase that is known', async (t) => {
  const words = ['We have not been able to reach the server of lena@mill.test for four hours.', 'You need do nothing.']
  for (const subject of ['Delayed Mail', 'Warning: message still being tried', 'Delivery delayed: Your order']) {
    const kinds = bouncesOf(readMail([from, `Subject: ${subject}`], words)).map(({ kind }) => kind)
    t.ok(
      kinds.every((kind) => kind === 'delayed'),
      subject,
    )
  }
})

t.test('a challenge to the sender is an automatic reply', async (t) => {
  const boxbe = ['From: Lena <notify@boxbe.com>', 'Subject: Re: Your order (Action Required)']
  t.same(readMail(boxbe, ['Your message to lena@mill.test was not delivered yet: you are not on the Guest List.']), {
    type: 'auto-reply',
  })
  const words = [
    'Your message has been held, because lena@mill.test takes mail of approved senders only.',
    'Please confirm that you are a real person: https://challenge.test/1',
  ]
  t.same(readMail(['From: Lena <lena@mill.test>', 'Subject: Undeliverable until confirmed'], words), {
    type: 'auto-reply',
  })
  const bounce = ['<lena@mill.test>: 550 5.7.1 confirm that you are a real person; the message has been held']
  t.match(summarizeBounce(readMail([from, 'Subject: Undelivered Mail Returned to Sender'], bounce)), /permanent/)
})
