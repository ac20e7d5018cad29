/** What people do on the pages and several tests need: sign in, add a domain, write an email, import, invite, join. */
import { simpleParser } from 'mailparser'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import type { TestDaemon } from '../daemon/test-daemon.js'
import { PASSWORD } from '../http/browser-client.js'
import type { Dashboard } from './dashboard.js'

/** On the page of the sign-in; it does not wait for what comes then. */
export async function fillSignIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Opens the menu of the user and chooses what it offers. */
export async function chooseInAccountMenu(page: Page, choice: 'Account' | 'Sign out'): Promise<void> {
  await page.getByRole('button', { name: 'Account: ' }).click()
  await page.locator('.account-content').getByText(choice, { exact: true }).click()
}

/** Opens a group of the navigation that is closed at first. */
export async function openGroup(page: Page, group: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: group }).click()
}

/** The code of the authenticator app, at the time of the daemon. */
export function readCode({ now }: Pick<TestDaemon, 'now'>, secret: string): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now() })
}

/** Opens the set-up of the second factor on the page of the account; returns the secret that it shows. */
export async function startSecondFactor(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Set it up' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('img', { name: /QR code/ }).waitFor()
  return (await page.locator('dialog .copy code').textContent()) ?? ''
}

export async function addDomain(page: Page, domain: string): Promise<void> {
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('link', { name: 'Add a domain' }).click()
  await page.getByLabel('Domain', { exact: true }).fill(domain)
  await page.getByRole('button', { name: 'Add the domain' }).click()
}

interface DomainRecord {
  readonly name: string
  readonly value: string
}

interface ShownDomain {
  readonly id: string
  readonly domain: string
  readonly dns_records: readonly DomainRecord[]
}

/** The records that a domain of the workspace needs. */
export async function readRecords(
  { rest }: TestDaemon,
  name: string,
): Promise<{ id: string; records: readonly DomainRecord[] }> {
  const { data } = (await rest('GET', '/v1/domains')).json<{ readonly data: readonly ShownDomain[] }>()
  const found = data.find(({ domain }) => domain === name)
  return { id: found?.id ?? '', records: found?.dns_records ?? [] }
}

/** Opens the composer and fills in recipients and subject. */
export async function compose(page: Page, subject: string, to: readonly string[]): Promise<void> {
  await page.getByRole('link', { name: 'Emails', exact: true }).click()
  await page.getByRole('link', { name: 'Send an email' }).click()
  await page.getByLabel('To', { exact: true }).fill(to.join('\n'))
  await page.getByLabel('Subject').fill(subject)
}

/** On the page of an audience. */
export async function importContacts(page: Page, lines: readonly string[]): Promise<void> {
  await page.getByRole('link', { name: 'Import' }).click()
  const file = { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) }
  await page.getByLabel('CSV file').setInputFiles(file)
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByRole('button', { name: 'Import the file' }).click()
}

/** The part of the page of an email that belongs to one recipient. */
export const sectionOf = (page: Page, recipient: string) =>
  page.locator('.section', { has: page.getByRole('heading', { name: recipient, exact: true }) })

/** The value that a page shows under a name: among `facts`, or as one of the large `numbers`. */
export function readFigure(page: Page, kind: 'fact' | 'figure', name: string): Promise<string | null> {
  const figure = page.locator(`.${kind}`, { has: page.getByText(name, { exact: true }) })
  return figure.locator('dd').textContent()
}

export async function closeNotices(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Close the notice' }).first()
  while (await button.isVisible()) await button.click()
}

interface Newcomer {
  readonly email: string
  readonly name: string
  /** The mail with the invitation. */
  readonly mail: Buffer
}

/** Follows the link of an invitation, sets name and password, and signs in. */
export async function acceptInvitation({ open, page }: Dashboard, { email, name, mail }: Newcomer): Promise<void> {
  const { text = '' } = await simpleParser(mail)
  await open(/\/ui(\/invitation\?token=\S+)/.exec(text)?.[1] ?? '')
  await page.getByLabel('Your name').fill(name)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByText('This is your API key.').waitFor()
  await page.getByRole('link', { name: 'Sign in to the dashboard' }).click()
  await fillSignIn(page, email)
  await page.getByRole('button', { name: 'Account: ' }).waitFor()
}
