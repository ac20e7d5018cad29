// Fills the sandbox by its own interfaces: emails with every outcome, inbound mail, contacts, a broadcast, and so on. Only
// the numbers of earlier days, which no interface can make, are written into their table.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import nodemailer from 'nodemailer'
import { createClient } from '../lib/https-client.mjs'

const DAY = 86_400_000
const QUARTER = 900_000
const DOMAIN = 'example.test'
const people = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Edsger Dijkstra', 'Barbara Liskov', 'Donald Knuth']
const subjects = ['Your receipt', 'Reset your password', 'Your order is on its way', 'Welcome to Example', 'Invoice']

/** Returns the ids of what the pages show. */
export async function fillSandbox({ folder, apiPort, mxPort }) {
  const key = readFileSync(join(folder, 'quickstart-key'), 'utf8').trim()
  const { demand: api } = createClient({ port: apiPort, key })
  const template = await api('POST', '/v1/templates', {
    name: 'Receipt',
    subject: 'Your receipt {{number}}',
    html: '<h1>Thank you, {{name}}</h1><p>Your receipt {{number}} is attached.</p>',
    text: 'Thank you, {{name}}. Your receipt {{number}} is attached.',
  })
  const emails = await sendEmails(api)
  const audience = await fillAudience(api)
  const broadcasts = await sendBroadcasts(api, audience)
  await api('POST', '/v1/suppressions', { email: 'complained@elsewhere.example', reason: 'spam_complaint' })
  const domain = await api('POST', '/v1/domains', { domain: 'shop.posthorn-example.org' })
  const webhook = await api('POST', '/v1/webhooks', {
    url: 'https://hooks.elsewhere.example/posthorn',
    events: ['email.delivered', 'email.bounced'],
  })
  await receiveMail(mxPort)
  await api('POST', '/v1/exports', { type: 'email_logs', from_date: dateOf(30), to_date: dateOf(0) })
  await sleep(4_000)
  const { data: inbound } = await api('GET', '/v1/inbound')
  const workspace = await invitePerson(api)
  writeHistory(folder)
  const template_id = template.id ?? template.data?.id
  return {
    ...emails,
    ...broadcasts,
    audience,
    workspace,
    domain: domain.id,
    webhook: webhook.id,
    inbound: inbound[0].id,
    template: template_id,
  }
}

function dateOf(daysAgo) {
  return new Date(Date.now() - daysAgo * DAY).toISOString()
}

async function sendEmails(api) {
  const ids = []
  for (let n = 0; n < 36; n += 1) {
    const name = people[n % people.length]
    const { id } = await api('POST', '/v1/emails', {
      from: `Example <app@${DOMAIN}>`,
      to: `${name.toLowerCase().replace(' ', '.')}@${DOMAIN}`,
      subject: `${subjects[n % subjects.length]} ${1040 + n}`,
      html: `<p>Dear ${name},</p><p>here is your <a href="https://example.test/orders/${n}">order ${1040 + n}</a>.</p>`,
      text: `Dear ${name}, here is your order ${1040 + n}.`,
      tags: [{ name: 'campaign', value: n % 3 === 0 ? 'receipts' : 'account' }],
    })
    ids.push(id)
  }
  const bad = await api('POST', '/v1/emails', letterTo(`bounce@${DOMAIN}`, 'Your receipt 1099'))
  await api('POST', '/v1/emails', letterTo(`defer@${DOMAIN}`, 'Your receipt 1100'))
  const later = new Date(Date.now() + DAY).toISOString()
  await api('POST', '/v1/emails', { ...letterTo(`ada.lovelace@${DOMAIN}`, 'Your trial ends'), scheduled_for: later })
  return { email: ids.at(-1), bounced: bad.id }
}

function letterTo(to, subject) {
  return { from: `Example <app@${DOMAIN}>`, to, subject, text: 'Thank you for your order.' }
}

async function fillAudience(api) {
  const audience = await api('POST', '/v1/audiences', { name: 'Newsletter' })
  const id = audience.id ?? audience.data?.id
  for (let n = 0; n < 60; n += 1) {
    const [first, last] = people[n % people.length].split(' ')
    await api('POST', '/v1/contacts', {
      email: `${first}.${last}.${n}@${DOMAIN}`.toLowerCase(),
      first_name: first,
      last_name: last,
      audience_id: id,
      subscribed: n % 10 !== 0,
    })
  }
  return id
}

async function sendBroadcasts(api, audience) {
  const common = { audience_id: audience, from: `Example <news@${DOMAIN}>` }
  const html =
    '<h1>Hello {{first_name|friend}}</h1><p>What is new in <a href="https://example.test/news">November</a>.</p>'
  const sent = await api('POST', '/v1/broadcasts', { ...common, name: 'November', subject: 'News of November', html })
  await api('POST', `/v1/broadcasts/${sent.id}/send`, {})
  const draft = await api('POST', '/v1/broadcasts', { ...common, name: 'December', subject: 'News of December', html })
  return { broadcast: sent.id, draft: draft.id }
}

async function receiveMail(port) {
  const sender = nodemailer.createTransport({ host: '127.0.0.1', port, tls: { rejectUnauthorized: false } })
  const letters = [
    ['A question about my order', 'Hello, when will order 1042 arrive?'],
    ['Re: Your receipt 1040', 'Thank you! Everything is fine.'],
    ['YOU HAVE WON $1,000,000!!!', 'Act now! Click here, free money, wire transfer, lottery, 100% guaranteed!!!'],
    ['The report you asked for', 'See the attachment.'],
  ]
  for (const [subject, text] of letters) {
    const attachments = subject.startsWith('The report') ? [{ filename: 'report.csv', content: 'a,b\n1,2\n' }] : []
    const html = `<p>${text}</p><p><img src="https://elsewhere.example/logo.png" alt="">Kind regards</p>`
    await sender.sendMail({
      from: 'Friend <friend@elsewhere.example>',
      to: `support@${DOMAIN}`,
      subject,
      text,
      html,
      attachments,
    })
  }
}

/** Returns the id of the workspace. */
async function invitePerson(api) {
  const { data } = await api('GET', '/v1/workspaces')
  const [{ id }] = data
  await api('POST', '/v1/members', { email: `grace.hopper@${DOMAIN}`, role: 'member', workspaceId: id })
  return id
}

/** A month of mail that rises on weekdays. */
function writeHistory(folder) {
  const database = new Database(join(folder, 'posthorn.db'))
  const { workspace_id: workspaceId } = database.prepare('select workspace_id from emails limit 1').get()
  const columns = database.pragma('table_info(email_metrics)').map(({ name }) => name)
  const insert = database.prepare(`insert or ignore into email_metrics values (${columns.map(() => '?').join(', ')})`)
  for (let day = 1; day <= 90; day += 1) {
    const bucket = Math.floor((Date.now() - day * DAY) / QUARTER) * QUARTER
    const weekday = new Date(bucket).getUTCDay()
    const mail = Math.round((weekday % 6 === 0 ? 900 : 2_400) * (1.2 - day / 200) * (1 + 0.15 * Math.sin(day * 1.7)))
    const bounced = Math.round(mail * 0.012)
    const numbers = {
      ...{
        workspace_id: workspaceId,
        tag: '',
        bucket,
        bounced,
        delivered: mail - bounced,
        complained: day % 9 === 0 ? 1 : 0,
      },
      ...{
        unique_opens: Math.round(mail * 0.43),
        opens: Math.round(mail * 0.6),
        unique_clicks: Math.round(mail * 0.11),
      },
      ...{ clicks: Math.round(mail * 0.14), machine_opens: Math.round(mail * 0.2) },
    }
    for (const domain of ['', DOMAIN]) insert.run(columns.map((name) => ({ ...numbers, domain })[name] ?? 0))
  }
  database.close()
}
