/** All components on one page, with values that are long, empty or hostile. */
import { render, type VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { ApiError } from '../../../../src/ui/api/api-error.ts'
import { api, saveFile, toUpload, unwrap } from '../../../../src/ui/api/client.ts'
import { toCursorPage, usePages } from '../../../../src/ui/api/use-pages.ts'
import { BarList } from '../../../../src/ui/components/bar-list.tsx'
import { Button } from '../../../../src/ui/components/button.tsx'
import { Chart } from '../../../../src/ui/components/chart.tsx'
import { ChoiceBar, useChoice } from '../../../../src/ui/components/choice-bar.tsx'
import { FileField, SelectField, TextField } from '../../../../src/ui/components/fields.tsx'
import { Figures } from '../../../../src/ui/components/figures.tsx'
import { Filters, useFilters } from '../../../../src/ui/components/filters.tsx'
import { Form, FormActions, SubmitButton } from '../../../../src/ui/components/form.tsx'
import { readFile } from '../../../../src/ui/components/form-values.ts'
import { formatBytes, formatPercent } from '../../../../src/ui/components/format.ts'
import { Empty } from '../../../../src/ui/components/loaded.tsx'
import { MessageFrame } from '../../../../src/ui/components/message-frame.tsx'
import { Notices, notify } from '../../../../src/ui/components/notices.tsx'
import { Page, Section } from '../../../../src/ui/components/page.tsx'
import { Progress } from '../../../../src/ui/components/progress.tsx'
import { PagedTable } from '../../../../src/ui/components/table.tsx'
import { Tabs } from '../../../../src/ui/components/tabs.tsx'
import { Facts, Note, StatusBadge, toWords } from '../../../../src/ui/components/values.tsx'
import { followTheme } from '../../../../src/ui/shell/theme.ts'
import '../../../../src/ui/style/base.css'
import '../../../../src/ui/style/shell.css'
import '../../../../src/ui/style/components.css'
import '../../../../src/ui/style/lists.css'

const hostile = '<img src=x onerror="document.title=1"> ‮rtl'
const names = ['status', 'recipient']
const statuses = ['', 'delivered', 'soft_bounced', 'queued']

function Gallery(): VNode {
  return (
    <main class="main">
      <Page title="Gallery" intro="Every component.">
        <Section title="List">
          <List />
        </Section>
        <Section title="Values">
          <Facts
            facts={[
              { name: 'Size', value: formatBytes(123_456_789) },
              { name: 'No bytes', value: formatBytes(0) },
              { name: 'Address', value: 'edsger.dijkstra@news.example.com' },
              { name: 'Share', value: formatPercent(0.1234) },
              { name: 'Hostile', value: hostile },
              { name: 'Breakable', value: `https://a-host.example/path?x=${hostile}` },
            ]}
          />
          {(['good', 'warn', 'bad', 'info', 'neutral'] as const).map((tone) => (
            <Note key={tone} tone={tone} title={toWords(tone)}>
              <p>
                A remark with <a href="/">the start page</a>. <StatusBadge status={tone} tone={tone} />
              </p>
            </Note>
          ))}
          <Progress label="Import" done={250} total={1_000} />
          <Progress label="Export" done={250} total={null} />
        </Section>
        <Section title="Figures" actions={<Choice />}>
          <Figures
            figures={[
              { name: 'Sent', value: '1,234,567,890' },
              { name: 'Opened', value: 0, remark: 'none of those that were delivered' },
              { name: hostile, value: hostile, remark: hostile },
            ]}
          />
        </Section>
        <Section title="Parts">
          <Tabs
            label="Parts"
            tabs={['first', 'second', 'third'].map((id) => ({ id, title: toWords(id), show: () => <p>Part {id}</p> }))}
          />
        </Section>
        <Section title="Chart">
          <Chart title="Emails by hour" times={hours} series={series} />
          <Chart title="Parts by hour" times={hours} series={series} kind="bars" others={series.slice(0, 1)} />
          <Chart
            title="Shares by hour"
            times={hours}
            series={[{ name: 'Share', values: hours.map((_, at) => at / 10_000) }]}
            limits={[{ name: hostile, value: 0.003 }]}
            formatValue={formatPercent}
          />
          <Chart title="Emails of one day" times={hours.slice(0, 1)} series={[{ name: 'Sent', values: [0] }]} />
        </Section>
        <Section title="Bars">
          <BarList
            caption="Mail by provider"
            title="Provider"
            parts={['Delivered', 'Bounced']}
            rows={[
              { name: hostile, remark: hostile, values: [12_345_678, 3] },
              { name: 'b'.repeat(120), values: [0, 0] },
            ]}
          />
        </Section>
        <Section title="Upload">
          <Upload />
        </Section>
        <Section title="Message">
          <MessageFrame src="/message.html" title="The HTML of a message" length={80} />
          <Button onClick={() => saveFile('/v1/emails/none/raw', 'message.eml')}>Save the message</Button>
        </Section>
      </Page>
    </main>
  )
}

const ranges = ['7', '30'].map((value) => ({ value, label: `${value} days` }))

function Choice(): VNode {
  const [chosen, choose] = useChoice('range', ranges, '7')
  return <ChoiceBar label="Range" choices={ranges} chosen={chosen} onChoose={choose} />
}

function List(): VNode {
  const filters = useFilters(names)
  const load = async (position: string | undefined) => {
    const first = Number(position ?? 0)
    const data = [0, 1, 2].map((at) => first + at)
    return toCursorPage({ data, next_cursor: first < 6 ? String(first + 3) : null })
  }
  const pages = usePages(load, [filters.key])
  return (
    <>
      <Filters names={names} filters={filters}>
        <SelectField
          name="status"
          label="Status"
          value={filters.get('status')}
          options={statuses.map((value) => ({ value, label: value === '' ? 'All' : toWords(value) }))}
        />
        <TextField name="recipient" label="Recipient" optional value={filters.get('recipient')} />
      </Filters>
      <PagedTable
        caption="Emails"
        pages={pages}
        rowKey={String}
        empty={<Empty title="No email" />}
        sorting={{ by: 'Subject', onSort: () => undefined }}
        columns={[
          { title: 'Subject', sortable: true, show: (row) => `Row ${row} ${hostile}` },
          { title: 'Recipients', show: (row) => row, kind: 'number' },
          { title: 'Long', show: () => 'x'.repeat(90) },
          {
            title: 'Actions',
            kind: 'actions',
            show: (row) => (
              <Button small onClick={() => notify(`Row ${row}`)}>
                Open
              </Button>
            ),
          },
        ]}
      />
    </>
  )
}

function Upload(): VNode {
  const [name, setName] = useState('')
  const submit = async (values: FormData): Promise<void> => {
    const file = readFile(values, 'file')
    const message = 'A file is required.'
    if (file === null) throw new ApiError(message, { status: 400, code: 'x', fields: [{ field: 'file', message }] })
    await unwrap(api.POST('/v1/suppressions/import', { ...toUpload(file) }))
    setName(file.name)
  }
  return (
    <Form onSubmit={submit}>
      <FileField name="file" label="File" accept=".csv" hint="At most 10 MB." />
      <p>{name}</p>
      <FormActions>
        <SubmitButton>Upload</SubmitButton>
      </FormActions>
    </Form>
  )
}

const hours = Array.from({ length: 24 }, (_, hour) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString())
const series = [
  { name: 'Sent', values: hours.map((_, hour) => 100 + 40 * Math.sin(hour / 3)) },
  { name: 'Opened', values: hours.map((_, hour) => 40 + 20 * Math.sin(hour / 4)) },
  { name: 'Clicked', values: hours.map((_, hour) => 10 + (hour % 5)) },
]

const place = document.getElementById('app')
if (place !== null) {
  followTheme()
  render(
    <Router>
      <Gallery />
      <Notices />
    </Router>,
    place,
  )
}
