/** Says whether a draft is saved, and lets the user decide when it was changed elsewhere. */
import type { VNode } from 'preact'
import { Button } from '../../components/button.tsx'
import { Note, Time } from '../../components/values.tsx'
import type { SaveState } from './draft-saver.ts'

interface SaveNoteProps {
  readonly state: SaveState
  readonly onReload: () => void
  readonly onOverwrite: () => Promise<unknown>
}

export function SaveNote({ state, onReload, onOverwrite }: SaveNoteProps): VNode {
  if (state.kind === 'conflict') {
    return (
      <Note tone="warn" title="This draft was changed elsewhere">
        <p>Somebody else, or another tab, has saved it since you opened it. Your text is not saved.</p>
        <p class="note-actions">
          <Button small onClick={onReload}>
            Show the other version
          </Button>
          <Button small onClick={onOverwrite}>
            Keep my version
          </Button>
        </p>
      </Note>
    )
  }
  return (
    <p class="save-state" role="status">
      {describe(state)}
    </p>
  )
}

function describe(state: SaveState): VNode | string {
  switch (state.kind) {
    case 'saved':
      return (
        <>
          Saved at <Time at={state.at} kind="second" />.
        </>
      )
    case 'waiting':
      return 'Saving…'
    case 'incomplete':
      return `Not saved yet. ${state.gaps.map(({ message }) => message).join(' ')} Then it is saved by itself.`
    case 'failed':
      return `Not saved: ${state.message}`
    default:
      return 'Changes are saved by themselves.'
  }
}
