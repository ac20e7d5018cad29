/** Imports the contacts of a CSV file into an audience, and shows the progress and the report. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { type ImportAnswer, ImportForm } from './import-form.tsx'
import { ImportReport, type Report, RunningImport } from './import-report.tsx'

/** The parameter of the address that has the id of an import which continues after its request. */
const PARAMETER = 'import'

export function ImportPage({ params: { id = '' } }: PageProps): VNode {
  const audience = useLoad(() => unwrap(api.GET('/v1/audiences/{id}', { params: { path: { id } } })), [id])
  const [report, setReport] = useState<Report | null>(null)
  const [search, setSearch] = useSearchParams()
  const importId = search.get(PARAMETER)
  const up = { href: `/audiences/${id}`, label: audience.data?.name ?? 'Audience' }
  const finish = (answer: ImportAnswer): void => {
    if ('data' in answer) setSearch({ [PARAMETER]: answer.data.import_id })
    else setReport(answer)
  }
  const end = {
    backHref: up.href,
    onAnother: () => {
      setReport(null)
      setSearch({})
    },
  }
  return (
    <Page
      title="Import contacts"
      up={up}
      intro="The import updates addresses that the audience already has, and adds new ones."
    >
      <Loaded from={audience}>
        {() =>
          importId !== null ? (
            <RunningImport importId={importId} {...end} />
          ) : report !== null ? (
            <ImportReport report={report} {...end} />
          ) : (
            <ImportForm audienceId={id} onImported={finish} backHref={up.href} />
          )
        }
      </Loaded>
    </Page>
  )
}
