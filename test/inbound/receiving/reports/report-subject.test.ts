/** What a report's subject says itself decides; words that it quotes do not. */
import t from 'tap'
import {
  confirmsSuccess,
  ownWordsOf,
  reportsSuccess,
} from '../../../../src/inbound/receiving/reports/report-subject.js'
import { bouncesOf, readMail, summarizeBounce } from '../../../helpers/receiving/report-mail.js'

t.test('the subject of the message is no part of what its report says', async (t) => {
  const cases: readonly (readonly [subject: string, reported: string, own: string])[] = [
    ['Undeliverable: Your order has been received', '', 'Undeliverable'],
    ['Fwd: Undeliverable: It was delivered', '', 'Undeliverable'],
    ['[ext] Returned mail: see transcript for details', '', 'Returned mail'],
    ['Re: Delivery failure of parcel 7', '', 'Re'],
    ['Automatic reply: Your delivery failed', '', 'Automatic reply'],
    ['Your message "Successful delivery" has bounced', '', 'Your message   has bounced'],
    ['Your order was received', 'Your order was received', ''],
    ['[Undeliverable] It was delivered', '', '[Undeliverable] It was delivered'],
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

t.test('a report whose subject is only that of the message is what its text says', async (t) => {
  const exchange = [
    'Your message did not reach some or all of the intended recipients.',
    '',
    'lena@mill.test on 1/1/2026 10:00',
    'The e-mail account does not exist at the organization this message was sent to.',
  ]
  const french = [
    'Échec de la remise pour ces destinataires ou groupes :',
    '',
    'lena@mill.test',
    "L'adresse de courrier que vous avez entrée est introuvable.",
    '#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##',
  ]
  for (const [subject, words] of [
    ['Your order has been received', exchange],
    ['[Undeliverable] Your order has been received', exchange],
    ['Non remis : Your order has been received', french],
  ] as const) {
    t.match(bouncesOf(readMail([from, `Subject: ${subject}`], words)), [
      { kind: 'permanent', reason: 'bad-mailbox', recipient: 'lena@mill.test' },
    ])
  }
  const silent = ['About your message to lena@mill.test: see https://portal.test/1']
  t.same(readMail([from, 'Subject: Your order has been delivered'], silent), { type: 'other' })
})

t.test('a text confirms a success, denies it, or is silent', async (t) => {
  t.equal(confirmsSuccess('Your message was successfully delivered to the destination listed below.'), 'yes')
  t.equal(confirmsSuccess('Delivery to these recipients is complete, but no notification was sent.'), 'yes')
  for (const text of ['Your message did not reach Lena.', "It couldn't be delivered.", 'It was not delivered to Lena.'])
    t.equal(confirmsSuccess(text), 'denies', text)
  t.equal(confirmsSuccess('See the attached report.'), 'no')
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
  const tmda = [
    'This message was created automatically by mail delivery software (TMDA).',
    '',
    'Your message attached below is being held because the address <me@mine.test> has not been verified.',
    'To release your message for delivery, please send an empty message to the following address.',
  ]
  t.same(readMail(['From: Lena <lena-confirm@mill.test>', 'Subject: Please confirm your message'], tmda), {
    type: 'auto-reply',
  })
  const bounce = ['<lena@mill.test>: 550 5.7.1 confirm that you are a real person; the message has been held']
  t.match(summarizeBounce(readMail([from, 'Subject: Undelivered Mail Returned to Sender'], bounce)), /permanent/)
})
