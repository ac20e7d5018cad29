/** Remembers in the browser that the user has hidden the first steps of a workspace. */
const KEY = 'posthorn.hidden-steps'

export function areStepsHidden(workspaceId: string): boolean {
  return readHidden().includes(workspaceId)
}

export function hideSteps(workspaceId: string): void {
  try {
    localStorage.setItem(KEY, [...new Set([...readHidden(), workspaceId])].join(' '))
  } catch {
    // Without storage, they are hidden until the page is loaded again.
  }
}

export function showSteps(workspaceId: string): void {
  try {
    localStorage.setItem(
      KEY,
      readHidden()
        .filter((id) => id !== workspaceId)
        .join(' '),
    )
  } catch {
    // Without storage, they were not hidden for long.
  }
}

function readHidden(): readonly string[] {
  try {
    return (localStorage.getItem(KEY) ?? '').split(' ').filter((id) => id !== '')
  } catch {
    return []
  }
}
