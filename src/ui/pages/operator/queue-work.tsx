/** Acts on all entries of the queue that match a filter, and the progress of such an act. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { formatNumber } from '../../components/format.ts'
import { notify } from '../../components/notices.tsx'
import { Progress } from '../../components/progress.tsx'
import { Note, Time } from '../../components/values.tsx'
import type { QueueAct, QueueFilters, QueueWork } from './operator-types.ts'

interface ActText {
  readonly button: string
  readonly title: string
  readonly effect: string
  readonly progress: string
}

const texts: Readonly<Record<QueueAct, ActText>> = {
  hold: {
    button: 'Hold all',
    title: 'Hold all matching entries?',
    effect: 'They stay in the queue, and Posthorn does not try them until you release them.',
    progress: 'Holding',
  },
  release: {
    button: 'Release all',
    title: 'Release all matching entries?',
    effect: 'Held entries are tried at their next time. Entries of a hold rule are tried when it ends.',
    progress: 'Releasing',
  },
  retry: {
    button: 'Try all now',
    title: 'Try all matching entries now?',
    effect: 'All entries are due at once, including held and scheduled ones. Entries of a hold rule stay held.',
    progress: 'Making due',
  },
  delete: {
    button: 'Delete all',
    title: 'Delete all matching entries?',
    effect: 'Their recipients fail and get nothing. You cannot undo this.',
    progress: 'Deleting',
  },
}

const acts: readonly QueueAct[] = ['retry', 'hold', 'release', 'delete']

interface MatchingActsProps {
  readonly filters: QueueFilters
  readonly disabled: boolean
  readonly onStarted: () => void
}

export function MatchingActs({ filters, disabled, onStarted }: MatchingActsProps): VNode {
  const [chosen, setChosen] = useState<QueueAct | null>(null)
  return (
    <div class="form-actions act-row">
      {listActs(filters).map((act) => (
        <Button key={act} small disabled={disabled} onClick={() => setChosen(act)}>
          {texts[act].button}
        </Button>
      ))}
      {chosen === null ? null : (
        <MatchingActDialog act={chosen} filters={filters} onStarted={onStarted} onClose={() => setChosen(null)} />
      )}
    </div>
  )
}

/** You cannot release or try by hand what a hold rule or a paused broadcast holds. */
function listActs({ reason }: QueueFilters): readonly QueueAct[] {
  if (reason === 'hold-rule') return ['hold', 'delete']
  return reason === 'paused-broadcast' ? ['delete'] : acts
}

interface MatchingActDialogProps {
  readonly act: QueueAct
  readonly filters: QueueFilters
  readonly onStarted: () => void
  readonly onClose: () => void
}

export function MatchingActDialog({ act, filters, onStarted, onClose }: MatchingActDialogProps): VNode {
  const start = async (): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/operator/queue/work', { body: { act, ...filters } }))
    onStarted()
  }
  return (
    <ConfirmDialog
      title={texts[act].title}
      {...(act === 'delete' ? { name: nameFilters(filters) } : {})}
      action={texts[act].button}
      onConfirm={start}
      onClose={onClose}
    >
      <p>
        Matching: {nameFilters(filters)}. {texts[act].effect}
      </p>
    </ConfirmDialog>
  )
}

function nameFilters({ domain, provider, status, reason, workspace_id: workspaceId }: QueueFilters): string {
  return [status, reason, provider, domain, workspaceId].filter((part) => part !== undefined).join(', ')
}

interface QueueWorkNoteProps {
  readonly work: QueueWork | null
  /** Called after the user has stopped or started the work. */
  readonly onChanged: () => void
}

export function QueueWorkNote({ work, onChanged }: QueueWorkNoteProps): VNode | null {
  if (work === null) return null
  if (work.state === 'interrupted') return <InterruptedWork work={work} onContinued={onChanged} />
  const { act, state, changed, missed, ended_at: endedAt, error } = work
  if (state !== 'running') {
    const tone = state === 'failed' ? 'bad' : 'info'
    return (
      <Note tone={tone} title={`${texts[act].button}: ${state}`}>
        <p>
          {formatNumber(changed)} changed, {formatNumber(missed)} left as they were,{' '}
          <Time at={endedAt} kind="relative" />.{error === null ? null : ` ${error}`}
        </p>
      </Note>
    )
  }
  const stop = async (): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/operator/queue/work'))
    notify('Stopped. Entries that have changed stay changed.')
    onChanged()
  }
  return (
    <Note tone="info" title={`${texts[act].progress} matching entries`}>
      <Progress label="Changed" done={changed} total={null} />
      <Button small onClick={stop}>
        Stop
      </Button>
    </Note>
  )
}

/** A restart of the service ended this work. It does not change an entry twice when it continues. */
function InterruptedWork(props: { readonly work: QueueWork; readonly onContinued: () => void }): VNode {
  const { work, onContinued } = props
  const { act, changed, missed, started_at: startedAt } = work
  const filters = filtersOf(work)
  const goOn = async (): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/operator/queue/work', { body: { act, ...filters } }))
    onContinued()
  }
  return (
    <Note tone="warn" title={`${texts[act].button}: interrupted`}>
      <p>
        The service was restarted before it reached all entries. Started <Time at={startedAt} kind="relative" />,
        matching {nameFilters(filters)}: {formatNumber(changed)} changed, {formatNumber(missed)} left as they were.
      </p>
      <Button small onClick={goOn}>
        Continue
      </Button>
    </Note>
  )
}

function filtersOf({ domain, provider, status, reason, workspace_id: workspaceId }: QueueWork): QueueFilters {
  return {
    ...(domain === null ? {} : { domain }),
    ...(provider === null ? {} : { provider }),
    ...(status === null ? {} : { status }),
    ...(reason === null ? {} : { reason }),
    ...(workspaceId === null ? {} : { workspace_id: workspaceId }),
  }
}
