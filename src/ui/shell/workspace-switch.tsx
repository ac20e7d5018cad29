/** Chooses which workspace the pages show. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { chooseWorkspace, sessionInfo, workspace } from '../api/session-state.ts'
import { useUniqueId } from '../components/unique-id.ts'

export function WorkspaceSwitch(): VNode | null {
  const id = useUniqueId()
  const [, navigate] = useLocation()
  const { workspaces = [] } = sessionInfo.value ?? {}
  const current = workspace.value
  if (current === null) return null
  if (workspaces.length === 1) {
    return (
      <p class="workspace-name">
        <span class="workspace-label">Workspace</span>
        {current.name}
      </p>
    )
  }
  const choose = (chosen: string): void => {
    // An object of the previous workspace has no page in the next one.
    navigate('/')
    chooseWorkspace(chosen)
  }
  return (
    <div class="workspace-switch">
      <label for={id} class="workspace-label">
        Workspace
      </label>
      <select id={id} value={current.id} onChange={(event) => choose(event.currentTarget.value)}>
        {workspaces.map(({ id: value, name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
