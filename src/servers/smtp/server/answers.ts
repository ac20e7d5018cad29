/** Answers of commands that may be promises, in turns that all sessions share. */
import { sharedTurns } from '../../../base/platform/shared-turns.js'
import type { Answer } from '../session/smtp-session.js'

/**
 * smtp-server lets others have their turn after some commands that are answered at once. It cannot know that a promise
 * may be resolved at once too, so those take shared turns.
 */
export function handleAnswer<Value>(answer: Answer<Value>, act: (value: Value) => void): void {
  if (answer instanceof Promise) void answer.then((value) => sharedTurns.run(() => act(value)))
  else act(answer)
}
