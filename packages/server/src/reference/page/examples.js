/* Fills the examples with an organization or folder of the reader. */

const form = document.querySelector('.berth-examples')
const hint = document.getElementById('group-hint')

/** Calls `show` with the description for the group that the reader chooses, now and whenever it changes. */
export async function fillExamples(spec, show) {
  const groups = await readGroups()
  if (groups.length > 0) offerGroups(groups)
  const control = form.elements.group
  const update = () => show(control.value === '' ? spec : specFor(spec, control.value))
  form.hidden = false
  form.addEventListener('submit', (event) => event.preventDefault())
  control.addEventListener('change', () => control.reportValidity() && update())
  update()
}

/** Replaces the field for a UID by a list of the reader's groups. */
function offerGroups(groups) {
  const select = document.createElement('select')
  for (const { uid, path } of groups) select.append(new Option(path, uid))
  const input = form.elements.group
  Object.assign(select, { id: input.id, name: input.name })
  input.replaceWith(select)
  hint.textContent = 'Examples of deletions are not filled.'
  select.setAttribute('aria-describedby', hint.id)
}

/** The groups of the signed-in user; none if no one is signed in. */
async function readGroups() {
  const reply = await fetch('/account/groups')
  return reply.ok ? (await reply.json()).groups : []
}

/**
 * Returns the description with this group in place of the group and the organization of the examples. Examples of deletions do not change:
 * calling one must not delete anything of the reader.
 */
function specFor(spec, group) {
  const example = form.dataset.group
  const [[exampleRoot], [root]] = [example.split('/'), group.split('/')]
  const replaced = (value) =>
    JSON.parse(JSON.stringify(value).replaceAll(example, group).replaceAll(exampleRoot, root))
  const paths = Object.entries(spec.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [
        method,
        method === 'delete' ? operation : replaced(operation),
      ]),
    ),
  ])
  return { ...spec, paths: Object.fromEntries(paths), components: replaced(spec.components) }
}
