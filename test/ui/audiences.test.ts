/** The pages of audiences and contacts: create, add, import, search, bulk acts, export, rename, delete. */
import { text } from 'node:stream/consumers'
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { importContacts, readFigure } from '../helpers/ui/steps.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

async function openWorld(t: Test): Promise<{ readonly app: TestDaemon; readonly dashboard: Dashboard }> {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, dashboard }
}

t.test('an audience from its creation to its deletion', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/audiences')
  await page.getByText('No audience yet').waitFor()
  await page.getByRole('link', { name: 'Create an audience' }).click()
  await page.getByRole('button', { name: 'Create the audience' }).click()
  await page.waitForSelector('[aria-invalid="true"]')
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'name', 'the field at fault has the focus')
  await expectEqual(
    t,
    () => page.getByLabel('Name').getAttribute('maxlength'),
    '100',
    'as many characters as the interface takes',
  )
  await page.getByLabel('Name').fill(HOSTILE)
  await page.getByLabel('Description').fill('Of the shop')
  await page.getByRole('button', { name: 'Create the audience' }).click()
  await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()

  await addContact(t, page)
  await importContacts(page, [
    'email,first_name,plan',
    `bob@b.test,"${HOSTILE.replaceAll('"', '""')}",pro`,
    'no address,x,y',
    'ann@b.test,Ann,free',
  ])
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.same(
    [
      await readFigure(page, 'fact', 'Added'),
      await readFigure(page, 'fact', 'Changed'),
      await readFigure(page, 'fact', 'Refused lines'),
    ],
    ['1', '1', '1'],
  )
  await page.getByRole('rowheader', { name: 'Is not an e-mail address' }).waitFor()
  await page.getByRole('cell', { name: '3', exact: true }).waitFor()
  await expectPresentable(t, dashboard, 'the report of an import')
  await page.getByRole('link', { name: 'Open the audience' }).click()
  await page.getByRole('link', { name: 'bob@b.test' }).waitFor()
  await page.getByText(HOSTILE).first().waitFor()
  t.pass('what a stranger wrote is text')
  await expectPresentable(t, dashboard, 'an audience')

  await searchAndAct(t, page)
  await exportContacts(t, page)
  await renameAndDelete(t, dashboard)
  t.same(await app.rows('select id from contacts where audience_id is not null'), [])
  t.not(await page.title(), 'owned')
  t.same(dashboard.faults, [])
})

async function addContact(t: Test, page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Add a contact' }).click()
  await page.getByLabel('Address').fill('ann@')
  await page.getByRole('button', { name: 'Add a value' }).click()
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'metadata_name')
  await page.getByLabel('Name of value 1').fill('visits')
  await page.getByLabel('Value of value 1').fill('many')
  await page.getByLabel('Kind of value 1').selectOption('JSON')
  await page.getByRole('button', { name: 'Add the contact' }).click()
  await page.getByText('The value of “visits” is not JSON.').waitFor()
  await page.getByLabel('Value of value 1').fill('7')
  await page.getByRole('button', { name: 'Add a value' }).click()
  await page.getByLabel('Name of value 2').fill('plan')
  await page.getByLabel('Value of value 2').fill('pro')
  await expectPresentable(t, { page }, 'the fields of a new contact')
  await page.getByRole('button', { name: 'Add the contact' }).click()
  await page.waitForSelector('input[name="email"][aria-invalid="true"]')
  await page.getByLabel('Address').fill('ann@b.test')
  await page.getByRole('button', { name: 'Add the contact' }).click()
  await page.getByText('ann@b.test is added.').waitFor()
  await page.getByRole('link', { name: 'ann@b.test' }).waitFor()
}

async function searchAndAct(t: Test, page: Page): Promise<void> {
  await page.getByLabel('Part of the address or name').fill('OB@')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('link', { name: 'ann@b.test' }).waitFor({ state: 'detached' })
  await page.getByLabel('Select bob@b.test').check()
  await page.getByRole('button', { name: 'Unsubscribe', exact: true }).click()
  await page.getByText('1 contact unsubscribed, 0 skipped.').waitFor()
  await page.getByRole('cell', { name: 'Unsubscribed' }).waitFor()
  t.equal(await readFigure(page, 'fact', 'Subscribed'), '1')
  await page.getByLabel('Part of the address or name').fill('')
  await page.getByLabel('State', { exact: true }).selectOption('unsubscribed')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('link', { name: 'ann@b.test' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'bob@b.test' }).waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('button', { name: 'Sort by: Address' }).click()
  await page.locator('tbody tr').first().getByRole('link', { name: 'ann@b.test' }).waitFor()
  await expectPresentable(t, { page }, 'the contacts of an audience in the order of addresses')
  await page.getByRole('link', { name: 'ann@b.test' }).click()
  await page.getByLabel('Last name').fill('Lee')
  await page.getByRole('button', { name: 'Save the contact' }).click()
  await page.getByText('The contact is saved.').waitFor()
  await expectEqual(t, () => page.getByLabel('Value of plan').inputValue(), 'free', 'the import has changed it')
  await expectPresentable(t, { page }, 'a contact')
  await page.getByRole('link', { name: HOSTILE }).click()
}

async function exportContacts(t: Test, page: Page): Promise<void> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const file = await text(await download.createReadStream())
  t.match(file, /ann@b\.test,Ann,Lee,true/)
  t.match(file, /bob@b\.test/)
}

async function renameAndDelete(t: Test, { page }: Dashboard): Promise<void> {
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Name').fill('Customers')
  await page.getByRole('button', { name: 'Save the audience' }).click()
  await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
  await page.getByRole('button', { name: 'Delete the audience' }).click()
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete it with 2 contacts' })
  await expectEqual(t, () => confirm.isDisabled(), true, 'the name is not typed in yet')
  await page.getByLabel('Type “Customers” to confirm').fill('Customers')
  await confirm.click()
  await page.getByText('The audience “Customers” is deleted.').waitFor()
  await page.getByText('No audience yet').waitFor()
}

t.test('a file is shown before it is imported, and the user says what its columns are', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  await dashboard.open(`/audiences/${id}/import`)
  const choose = async (name: string, buffer: Buffer): Promise<void> => {
    await page.getByLabel('CSV file').setInputFiles({ name, mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Read the file' }).click()
  }
  await choose('list.xlsx', Buffer.concat([Buffer.from('504b0304', 'hex'), Buffer.alloc(500)]))
  await page.locator('.field-error', { hasText: 'save it as CSV' }).waitFor()
  await expectPresentable(t, dashboard, 'a workbook that is refused')

  const lines = [
    'Kontakt;Ort;newsletter group;E-Mail',
    ...['Ann;Wien;3;ann@b.test', 'Bob;Graz;1;bob@gmial.com', 'Info;Linz;1;info@b.test', `${HOSTILE};x;1;nonsense`],
  ]
  await choose('list.csv', Buffer.from(lines.join('\n')))
  await page.getByText('It has 4 lines with contacts, and is read as UTF-8.').waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.textContent'), 'The file list.csv')
  await page.getByText('Choose below what “newsletter group” is.').waitFor()
  await expectEqual(t, () => page.getByLabel('Between cells').inputValue(), 'semicolon')
  await page.getByRole('cell', { name: HOSTILE }).waitFor()
  const submit = page.getByRole('button', { name: 'Import the file' })
  await page.getByText('You can import the file when its columns are clear.').waitFor()
  t.equal(await submit.isDisabled(), true, 'an import waits for the decision')
  await page.getByLabel('newsletter group').selectOption({ label: 'Not imported' })
  await page.getByText('1 address with a misspelled domain').waitFor()
  await page.getByLabel('Kontakt').selectOption({ label: 'First name' })
  await page.getByRole('cell', { name: 'nonsense' }).first().waitFor()
  await expectPresentable(t, dashboard, 'the preview of an import')
  await page.getByText('Show these addresses').click()
  await page.getByRole('cell', { name: 'bob@gmail.com' }).waitFor()
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.textContent'), 'The file is imported')
  t.equal(await readFigure(page, 'fact', 'Added'), '2')
  t.equal(await readFigure(page, 'fact', 'Left out as you chose'), '1')
  t.same(await app.rows('select email, first_name, metadata from contacts order by email'), [
    { email: 'ann@b.test', first_name: 'Ann', metadata: '{"Ort":"Wien"}' },
    { email: 'info@b.test', first_name: 'Info', metadata: '{"Ort":"Linz"}' },
  ])

  await page.getByRole('button', { name: 'Import another file' }).click()
  await choose('plain.csv', Buffer.from('cleo@b.test,Cleo\ndora@b.test,Dora\n'))
  await expectEqual(t, () => page.getByLabel('The first line').inputValue(), 'contact')
  await page.getByLabel('Column 2').selectOption({ label: 'Last name' })
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.equal(await readFigure(page, 'fact', 'Added'), '2')
  t.same(dashboard.faults, [])
})

t.test('a file of Excel is read as Windows-1252, and the preview says what its import does', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  const known = { body: { email: 'ann@b.test', first_name: 'Ann', audience_id: id } }
  t.equal((await app.rest('POST', '/v1/contacts', known)).status, 201)
  await dashboard.open(`/audiences/${id}/import`)
  const choose = async (lines: readonly string[]): Promise<void> => {
    const file = { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\r\n'), 'latin1') }
    await page.getByLabel('CSV file').setInputFiles(file)
    await page.getByRole('button', { name: 'Read the file' }).click()
    await page.getByRole('heading', { name: 'The file list.csv' }).waitFor()
  }
  const broken = Array.from({ length: 50 }, (_, n) => `kaputt${n};x;y`)
  const wide = Array.from({ length: 9 }, (_, n) => `Spalte ${n}`).join(';')
  const lines = ['ann@b.test;Änne;Groß', 'bob@b.test;Jörg;Käfer', 'eve@gmial.com;Eve;Lee', ...broken]
  await choose([`E-Mail;Vorname;Nachname;${wide}`, ...lines])
  await page.getByText('is read as Windows-1252').waitFor()
  await page.getByRole('cell', { name: 'Käfer' }).waitFor()
  for (const [name, field] of Object.entries({ 'E-Mail': 'email', Vorname: 'first_name', Nachname: 'last_name' })) {
    await expectEqual(t, () => page.getByLabel(name, { exact: true }).inputValue(), field)
  }
  const read = (names: readonly string[]) => Promise.all(names.map((name) => readFigure(page, 'fact', name)))
  const names = ['New contacts', 'Contacts to change', 'Left out as you chose', 'Refused']
  t.same(await read(names), ['1', '1', '1', '50'])
  await page.getByText('1 address with a misspelled domain').click()
  await expectEqual(t, async () => (await read(names)).join(' '), '2 1 0 50', 'the counts follow the choices')
  const refused = page.getByRole('table', { name: 'Refused lines' }).locator('tbody tr')
  t.equal(await refused.count(), 1, 'equal refusals are one row')
  t.match(await refused.textContent(), /Is not an e-mail address.*E-Mail.*50.*5, 6, 7, 8, 9, …/)
  await expectPresentable(t, dashboard, 'the preview of a wide file')

  await page.getByRole('button', { name: 'Choose another file' }).click()
  await choose(['E-Mail;Vorname', 'kaputt;x'])
  await page.getByText('No line of the file can be imported.').waitFor()
  t.equal(await page.getByRole('button', { name: 'Import the file' }).isDisabled(), true)
  t.same(dashboard.faults, [])
})

t.test('the user says which encoding a file has that Posthorn cannot find', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  await dashboard.open(`/audiences/${id}/import`)
  const cells = [Buffer.from('email,first_name\na@b.test,'), Buffer.from([0xc8, 0xe2, 0xe0, 0xed])]
  await page
    .getByLabel('CSV file')
    .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.concat(cells) })
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByText('cannot be read in this encoding').waitFor()
  await expectEqual(t, () => page.getByLabel('Encoding of the file').inputValue(), 'utf-8')
  await page.getByLabel('Encoding of the file').selectOption('windows-1251')
  await page.getByRole('cell', { name: 'Иван' }).waitFor()
  await page.getByText('is read as Windows-1251 (Cyrillic): see below').waitFor()
  await expectPresentable(t, dashboard, 'a file in another encoding')
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.equal(await readFigure(page, 'fact', 'Read as'), 'Windows-1251 (Cyrillic)')
  t.same(await app.rows('select first_name from contacts'), [{ first_name: 'Иван' }])
  t.same(dashboard.faults, [])
})

t.test('the user is asked about addresses that lines which were not checked may have', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  await dashboard.open(`/audiences/${id}`)
  await page.getByRole('link', { name: 'Import' }).click()
  const buffer = Buffer.from(`email\n${'a@b.test\n'.repeat(25_000)}eve@gmial.com\nfay@gmial.com\n`)
  await page.getByLabel('CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Read the file' }).click()
  await page.getByText('The first 25,000 lines were checked.').waitFor()
  const choice = page.getByLabel('0 addresses with a misspelled domain, so far')
  t.equal(await choice.isChecked(), true)
  await choice.uncheck()
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.equal(await readFigure(page, 'fact', 'Left out as you chose'), '0')
  t.same(await app.rows("select email from contacts where email like '%gmial%' order by email"), [
    { email: 'eve@gmial.com' },
    { email: 'fay@gmial.com' },
  ])
  t.same(dashboard.faults, [])
})

t.test('nothing is imported after a look that has failed, until one succeeds', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  await dashboard.open(`/audiences/${id}/import`)
  const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('ann@b.test,Ann\n') }
  await page.getByLabel('CSV file').setInputFiles(file)
  await page.getByRole('button', { name: 'Read the file' }).click()
  const submit = page.getByRole('button', { name: 'Import the file' })
  await expectEqual(t, () => submit.isDisabled(), false)
  await page.route(PREVIEWS, (route) => route.fulfill({ status: 429, json: { error: { message: 'not now' } } }))
  await page.getByLabel('Column 2').selectOption({ label: 'Last name' })
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  t.equal(await submit.isDisabled(), true)
  await page.unroute(PREVIEWS)
  await page.getByRole('button', { name: 'Try again' }).click()
  await expectEqual(t, () => submit.isDisabled(), false)
  t.equal(await page.getByLabel('Column 2').inputValue(), 'last_name', 'the choice stays')
  t.same(dashboard.faults, [])
})

t.test('only the latest look at a file counts', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  await dashboard.open(`/audiences/${id}/import`)
  const choose = async (name: string, text: string): Promise<void> => {
    await page.getByLabel('CSV file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.getByRole('button', { name: 'Read the file' }).click()
    await page.getByRole('heading', { name: `The file ${name}` }).waitFor()
  }
  const columnTwo = page.getByLabel('Column 2')
  const submit = page.getByRole('button', { name: 'Import the file' })
  await choose('old.csv', 'ann@b.test,Ann\n')

  const held = await holdPreviews(page)
  await columnTwo.selectOption({ label: 'Last name' })
  await expectEqual(t, async () => held.length, 1)
  await expectEqual(t, () => submit.isDisabled(), true, 'nobody has seen yet what would be imported')
  await columnTwo.selectOption({ label: 'First name' })
  await expectEqual(t, async () => held.length, 2)
  await answerHeld(page, held, 1)
  await expectEqual(t, () => submit.isDisabled(), false)
  await answerHeld(page, held, 0)
  t.equal(await columnTwo.inputValue(), 'first_name', 'a late answer does not restore what was replaced')

  await columnTwo.selectOption({ label: 'Last name' })
  await expectEqual(t, async () => held.length, 3)
  await page.getByRole('button', { name: 'Choose another file' }).click()
  await answerHeld(page, held, 2)
  t.equal(await page.getByLabel('CSV file').count(), 1, 'a late answer does not bring the old file back')
  await page.unroute(PREVIEWS)
  await choose('new.csv', 'bob@b.test,Bob\n')
  await submit.click()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.same(await app.rows('select email from contacts'), [{ email: 'bob@b.test' }])
  t.same(dashboard.faults, [])
})

const PREVIEWS = '**/import/preview*'

/** Keeps the requests of previews back until they are answered. */
async function holdPreviews(page: Page): Promise<readonly Route[]> {
  const held: Route[] = []
  await page.route(PREVIEWS, (route) => void held.push(route))
  return held
}

/** Lets the server answer, and the page take the answer up. */
async function answerHeld(page: Page, held: readonly Route[], place: number): Promise<void> {
  const route = held[place]
  if (route === undefined) throw new Error(`no request ${place} was held back`)
  const answered = page.waitForResponse((response) => response.request() === route.request())
  await route.continue()
  await (await answered).finished()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)))
}

t.test('a long import shows its progress, and long lists have pages', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const create = async (name: string): Promise<string> =>
    (await app.rest('POST', '/v1/audiences', { body: { name } })).json<{ id: string }>().id
  const [id] = [await create('Many'), await create('Few')]
  await dashboard.open(`/audiences/${id}`)
  await page.getByText('No contact yet').waitFor()
  const lines = Array.from({ length: 1_200 }, (_, n) => `c${String(n).padStart(4, '0')}@b.test`)
  await importContacts(page, ['email', ...lines])
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  t.equal(await readFigure(page, 'fact', 'Added'), '1,200')
  await page.reload()
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  await page.getByRole('link', { name: 'Open the audience' }).click()
  await page.getByRole('button', { name: 'Next ›' }).click()
  await page.getByText('Page 2').waitFor()

  await page.getByLabel('Part of the address or name').fill('c000')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('button', { name: 'Select this page (10)' }).click()
  await page.getByRole('button', { name: 'Move' }).click()
  await page.getByLabel('Target audience').selectOption({ label: 'Few' })
  await expectPresentable(t, dashboard, 'the dialog of moving')
  await page.getByRole('button', { name: 'Move them' }).click()
  await page.getByText('10 contacts moved, 0 skipped.').waitFor()
  await page.getByText('No contact found').waitFor()

  const suppressed = { email: 'c0001@b.test', reason: 'manual' }
  t.equal((await app.rest('POST', '/v1/suppressions', { body: suppressed })).status, 201)
  await dashboard.open('/contacts?state=suppressed')
  await page.getByRole('cell', { name: 'Suppressed: added by hand' }).getByRole('link').click()
  await page.getByRole('rowheader', { name: 'c0001@b.test' }).waitFor()
  await dashboard.open('/contacts?search=c0001')
  await page.getByLabel('Select c0001@b.test').check()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByLabel('Type “1” to confirm').fill('1')
  await page.getByRole('button', { name: 'Delete the contacts' }).click()
  await page.getByText('1 contact deleted, 0 skipped.').waitFor()
  t.same(await app.rows(`select 1 from contacts where email = 'c0001@b.test'`), [])
  await dashboard.open('/contacts')
  await page.getByRole('link', { name: '@b.test' }).first().waitFor()
  await expectEqual(t, () => page.getByRole('button', { name: 'Delete' }).count(), 0, 'acts need a selection')
  await expectPresentable(t, dashboard, 'all contacts')
  t.same(dashboard.faults, [])
})

t.test('long names fit into narrow windows', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const create = async (path: string, body: object): Promise<string> =>
    (await app.rest('POST', path, { body })).json<{ id: string }>().id
  const name = 'Donaudampfschifffahrtsgesellschaft'.repeat(2)
  const audience_id = await create('/v1/audiences', { name })
  const id = await create('/v1/contacts', { email: `${'a'.repeat(60)}@${'b'.repeat(60)}.test`, audience_id })
  await dashboard.open(`/contacts/${id}`)
  await dashboard.page.getByRole('link', { name }).waitFor()
  await expectPresentable(t, dashboard, 'a contact with long names')
  await dashboard.open(`/audiences/${audience_id}`)
  await dashboard.page.getByRole('link', { name: 'b'.repeat(60) }).waitFor()
  await expectPresentable(t, dashboard, 'an audience with long names')
})

t.test('without contacts the pages lead to what can be done, and to a broadcast', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const ids: string[] = []
  for (const name of ['First', 'Second', 'Third']) {
    ids.push((await app.rest('POST', '/v1/audiences', { body: { name } })).json<{ readonly id: string }>().id)
  }
  await dashboard.open('/contacts')
  await page.locator('.empty').getByRole('link', { name: 'an audience' }).waitFor()
  await page.locator('.empty').getByRole('link', { name: 'add contacts from your program' }).waitFor()
  await expectPresentable(t, dashboard, 'no contacts')
  await page.locator('.empty').getByRole('link', { name: 'Enter one by hand' }).click()
  await page.getByRole('heading', { level: 1, name: 'Add a contact' }).waitFor()
  await dashboard.open(`/audiences/${ids[1]}`)
  await page.locator('.empty').getByRole('link', { name: 'load a CSV file' }).waitFor()
  await page.getByRole('link', { name: 'Write a broadcast' }).click()
  await page.getByRole('heading', { level: 1, name: 'Write a broadcast' }).waitFor()
  await expectEqual(t, () => page.getByLabel('Audience', { exact: true }).inputValue(), ids[1])
  t.same(dashboard.faults, [])
})

t.test('a save keeps names and values of metadata that nobody has edited', { skip }, async (t) => {
  const app = await testDaemon(t)
  const metadata = { ' plan ': ' pro ', 'two\nlines': 'a\r\nb', 'two ': 2, two: [1, 'x\n'] }
  const body = { email: 'ann@b.test', metadata }
  const { id } = (await app.rest('POST', '/v1/contacts', { body })).json<{ readonly id: string }>()
  const { page, open, signIn, faults } = await openDashboard(t, app)
  await signIn()
  await open(`/contacts/${id}`)
  await page.getByLabel('Last name').fill('Lee')
  await page.getByRole('button', { name: 'Save the contact' }).click()
  await page.getByText('The contact is saved.').waitFor()
  const [row] = await app.rows<{ readonly metadata: string }>('select metadata from contacts')
  t.same(JSON.parse(row?.metadata ?? ''), metadata)
  await open(`/contacts/${id}`)
  await page.getByLabel('Value of  plan ').fill('free')
  await page.getByRole('button', { name: 'Save the contact' }).click()
  await page.getByText('The contact is saved.').waitFor()
  const [changed] = await app.rows<{ readonly metadata: string }>('select metadata from contacts')
  t.same(JSON.parse(changed?.metadata ?? ''), { ...metadata, ' plan ': 'free' })
  t.same(faults, [])
})
