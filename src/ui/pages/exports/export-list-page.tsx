/** The exports of the workspace. You can request one, follow it, download its file and delete it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, buttonClass } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { formatBytes, formatNumber, formatPercent } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { describeOutcome } from '../broadcasts/outcome.ts'
import { type Export, toTypeLabel } from './export-type.ts'
import { NewExportDialog } from './new-export-dialog.tsx'

/** Milliseconds between two loads while an export is being written. */
const PAUSE = 1_500

export function ExportListPage(): VNode {
  const exports = useLoad(loadExports, [], {
    every: (data) => (data.some(({ status }) => status === 'processing') ? PAUSE : null),
  })
  const [asking, setAsking] = useState(false)
  const [deleting, setDeleting] = useState<Export | null>(null)
  return (
    <Page
      title="Exports"
      intro="Records of this workspace as CSV files. They are written in the background."
      actions={
        <Button tone="primary" onClick={() => setAsking(true)}>
          Export records
        </Button>
      }
    >
      <Loaded from={exports}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No export yet">
              <p>Export emails, bounces, opens or suppressions of a time range as a file.</p>
            </Empty>
          ) : (
            <Table
              caption="Exports of this workspace"
              columns={[...columns, buildActions(setDeleting)]}
              rows={rows}
              rowKey={({ export_id: id }) => id}
            />
          )
        }
      </Loaded>
      {asking ? <NewExportDialog onRequested={exports.reload} onClose={() => setAsking(false)} /> : null}
      {deleting === null ? null : (
        <DeletionDialog given={deleting} onDeleted={exports.reload} onClose={() => setDeleting(null)} />
      )}
    </Page>
  )
}

async function loadExports(): Promise<readonly Export[]> {
  const { data } = await unwrap(sessionApi.GET('/ui/api/exports'))
  return data
}

const columns: readonly Column<Export>[] = [
  {
    title: 'Records',
    show: ({ type, domain, broadcast_id: broadcast, outcome }) => (
      <>
        {broadcast === null ? (
          <span class="one-line">{toTypeLabel(type)}</span>
        ) : (
          <Link href={`/broadcasts/${broadcast}`}>{toTypeLabel(type)}</Link>
        )}
        {outcome === null ? null : <span class="row-note">{describeOutcome(outcome).label} only</span>}
        {domain === null ? null : <span class="row-note">{allowBreaks(domain)} only</span>}
      </>
    ),
  },
  {
    title: 'Time range',
    show: ({ from, to }) => (
      <>
        <Time at={from} kind="day" /> to <Time at={toLastMoment(to)} kind="day" />
      </>
    ),
  },
  { title: 'State', show: (given) => <ExportState given={given} /> },
  { title: 'Rows', kind: 'number', show: ({ rows }) => formatNumber(rows) },
  { title: 'Requested', show: ({ created_at: at }) => <Time at={at} /> },
]

/** The end of a range is the moment after it: midnight of the day after the last one. */
function toLastMoment(end: string): string {
  return new Date(new Date(end).getTime() - 1).toISOString()
}

function ExportState({ given }: { readonly given: Export }): VNode {
  const { status, progress, error, expires_at: expiresAt, bytes } = given
  return (
    <>
      <StatusBadge status={status} />
      {status === 'processing' ? (
        <progress class="cell-progress" max={1} value={progress} aria-label={`${formatPercent(progress)} done`} />
      ) : null}
      {error === null ? null : <span class="row-note row-note-bad">{error}</span>}
      {expiresAt === null ? null : (
        <span class="row-note">
          {formatBytes(bytes)}, kept until <Time at={expiresAt} kind="day" />
        </span>
      )}
    </>
  )
}

function buildActions(onDelete: (given: Export) => void): Column<Export> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (given) => {
      const { status, type, download_url: url } = given
      const label = toTypeLabel(type)
      return (
        <>
          {url === null ? null : (
            <a class={buttonClass('plain', true)} href={toOwnUrl(url)} download aria-label={`Download ${label}`}>
              Download
            </a>
          )}
          {status === 'processing' ? null : (
            <Button small onClick={() => onDelete(given)} label={`Delete ${label}`}>
              Delete
            </Button>
          )}
        </>
      )
    },
  }
}

/**
 * The signed link at the address of this page. Its public address may not be reachable for a user who comes through
 * a tunnel.
 */
function toOwnUrl(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

interface DeletionProps {
  readonly given: Export
  readonly onDeleted: () => void
  readonly onClose: () => void
}

function DeletionDialog({ given: { export_id: id, type }, onDeleted, onClose }: DeletionProps): VNode {
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/exports', { params: { query: { export_ids: id } } }))
    notify('The export is deleted.')
    onDeleted()
  }
  return (
    <ConfirmDialog
      title="Delete this export?"
      name={toTypeLabel(type)}
      action="Delete the export"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>Its file is deleted and its links stop working at once. The records stay.</p>
    </ConfirmDialog>
  )
}
