/** Shows the progress of an import of contacts, and its report. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { RefusedLines } from '../../components/refused-lines.tsx'
import { nameEncoding } from '../../components/text-encodings.ts'
import { Facts, Note } from '../../components/values.tsx'
import { labelField } from './import-columns.tsx'

export type Report = components['schemas']['ContactImportReport']

interface EndProps {
  readonly onAnother: () => void
  readonly backHref: string
}

/** Milliseconds between two requests for the progress. */
const PAUSE = 1_000

export function RunningImport({ importId, ...end }: EndProps & { readonly importId: string }): VNode {
  const load = () => unwrap(api.GET('/v1/imports/{id}', { params: { path: { id: importId } } }))
  const state = useLoad(load, [importId], { every: ({ status }) => (status === 'processing' ? PAUSE : null) })
  return (
    <Loaded from={state}>
      {({ status, rows, done, report, error }) =>
        status === 'processing' ? (
          <Section title="The import is running" intro="It continues if you leave this page.">
            <Progress label="Lines" done={done} total={rows} />
          </Section>
        ) : report !== null && 'updated' in report ? (
          <ImportReport report={report} {...end} />
        ) : (
          <Note tone="bad" title="The import has failed">
            <p>{error?.message ?? 'It ended without a report.'} Lines that were imported before the failure stay.</p>
            <Button onClick={end.onAnother}>Try another file</Button>
          </Note>
        )
      }
    </Loaded>
  )
}

export function ImportReport({ report, onAnother, backHref }: EndProps & { readonly report: Report }): VNode {
  const { added, updated, unchanged, still_unsubscribed: left, left_out: leftOut, refused, encoding } = report
  return (
    <Section title="The file is imported">
      <Facts
        facts={[
          { name: 'Added', value: formatNumber(added) },
          { name: 'Changed', value: formatNumber(updated) },
          { name: 'Unchanged', value: formatNumber(unchanged) },
          { name: 'Still unsubscribed', value: formatNumber(left) },
          { name: 'Left out as you chose', value: formatNumber(leftOut) },
          { name: 'Refused lines', value: formatNumber(refused) },
          { name: 'Read as', value: nameEncoding(encoding) },
        ]}
      />
      <RefusedLines report={report} labelOf={labelField} cure="Correct them in the file and import it again." />
      <div class="form-actions">
        <ButtonLink href={backHref} tone="primary">
          Open the audience
        </ButtonLink>
        <Button onClick={onAnother}>Import another file</Button>
      </div>
    </Section>
  )
}
