/** An import that continues after its upload: shows its progress, then its result. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Progress } from '../../components/progress.tsx'
import { Note, StatusBadge, Time } from '../../components/values.tsx'
import { ImportReport } from './import-report.tsx'

type Import = components['schemas']['Import']

/** Milliseconds between two loads while the import runs. */
const REFRESH = 1_000

export function ImportPage({ params: { id = '' } }: PageProps): VNode {
  const every = ({ status }: Import): number | null => (status === 'processing' ? REFRESH : null)
  const load = (): Promise<Import> => unwrap(api.GET('/v1/imports/{id}', { params: { path: { id } } }))
  const found = useLoad(load, [id], { every })
  return (
    <Page
      title="Import of suppressed addresses"
      badge={found.data === undefined ? null : <StatusBadge status={found.data.status} />}
      up={{ href: '/suppressions', label: 'Suppressions' }}
    >
      <Loaded from={found}>{(data) => <ImportState data={data} />}</Loaded>
    </Page>
  )
}

function ImportState({ data }: { readonly data: Import }): VNode {
  const { status, rows, done, report, error, created_at: begun, finished_at: finished } = data
  return (
    <>
      <p>
        Begun <Time at={begun} />
        {finished === null ? null : (
          <>
            , ended <Time at={finished} />
          </>
        )}
        .
      </p>
      <Progress label="Lines processed" done={done} total={rows} />
      {status === 'processing' ? <p class="soft">You may leave this page: the import continues.</p> : null}
      {error === null ? null : (
        <Note tone="bad" title="The import has failed">
          <p>{error.message}</p>
          <p>
            Lines that were imported before the failure stay on the list. Correct the file and{' '}
            <Link href="/suppressions/import">import it again</Link>.
          </p>
        </Note>
      )}
      {report !== null && 'provider' in report ? <ImportReport report={report} /> : null}
    </>
  )
}
