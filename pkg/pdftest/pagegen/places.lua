-- Writes what stands where on the pages of a LaTeX document into JOBNAME.places, a line each:
--
--   size PAGE WIDTH HEIGHT
--   text PAGE BLOCK CELL LEFT TOP RIGHT BOTTOM    a run of glyphs of one block in one line
--   rule PAGE BLOCK CELL LEFT TOP RIGHT BOTTOM
--
-- in points from the page's top left. What is set while the attribute inkblock has a number belongs to that block; inkcell
-- says the same of a table's cells.
local block, cell = luatexbase.attributes.inkblock, luatexbase.attributes.inkcell
local ids = {}
for id, name in pairs(node.types()) do ids[name] = id end
local glyph, glue, kern, rule, disc, margin = ids.glyph, ids.glue, ids.kern, ids.rule, ids.disc, ids.margin_kern
local hlist, vlist = ids.hlist, ids.vlist

local file = assert(io.open(tex.jobname .. ".places", "w"))
local page = 0

local function points(scaled) return scaled / 65781.76 end

local function write(kind, n, left, top, right, bottom)
  local of = node.get_attribute(n, block)
  if of and of > 0 then
    file:write(string.format("%s %d %d %d %.2f %.2f %.2f %.2f\n", kind, page, of, node.get_attribute(n, cell) or 0,
      points(left), points(top), points(right), points(bottom)))
  end
end

local sizes = {}
local function sizeOf(number)
  sizes[number] = sizes[number] or (font.getfont(number) or {size = 655360}).size -- fonts of TeX's own formats are not listed
  return sizes[number]
end

local walkHorizontal, walkVertical

local function walkBox(box, x, base)
  if box.id == hlist then walkHorizontal(box, box.head, x, base) else walkVertical(box, x, base - box.height) end
end

walkVertical = function(box, x, y)
  for n in node.traverse(box.head) do
    if n.id == hlist or n.id == vlist then
      walkBox(n, x + n.shift, y + n.height)
      y = y + n.height + n.depth
    elseif n.id == glue then y = y + node.effective_glue(n, box)
    elseif n.id == kern then y = y + n.kern
    elseif n.id == rule then
      local width = n.width == -1073741824 and box.width or n.width
      write("rule", n, x, y, x + width, y + n.height + n.depth)
      y = y + n.height + n.depth
    end
  end
end

walkHorizontal = function(box, head, x, base)
  local run
  local function finish()
    if run then write("text", run.first, run.left, run.top, run.right, run.bottom) end
    run = nil
  end
  local function walk(first)
    for n in node.traverse(first) do
      if n.id == glyph then
        if run and (node.get_attribute(run.first, block) ~= node.get_attribute(n, block)
            or node.get_attribute(run.first, cell) ~= node.get_attribute(n, cell)) then finish() end
        local size = sizeOf(n.font)
        local top, bottom = base - math.max(n.height, 0.7 * size), base + math.max(n.depth, 0.2 * size)
        run = run or {first = n, left = x, top = top, bottom = bottom}
        x = x + n.width
        run.right, run.top, run.bottom = x, math.min(run.top, top), math.max(run.bottom, bottom)
      elseif n.id == hlist or n.id == vlist then
        walkBox(n, x, base + n.shift)
        x = x + n.width
      elseif n.id == glue then x = x + node.effective_glue(n, box)
      elseif n.id == kern then x = x + n.kern
      elseif n.id == margin then x = x + n.width
      elseif n.id == ids.math then x = x + n.surround
      elseif n.id == disc then walk(n.replace)
      elseif n.id == rule then
        local height = n.height == -1073741824 and box.height or n.height
        local depth = n.depth == -1073741824 and box.depth or n.depth
        write("rule", n, x, base - height, x + n.width, base + depth)
        x = x + n.width
      end
    end
  end
  walk(head)
  finish()
end

luatexbase.add_to_callback("pre_shipout_filter", function(box)
  page = page + 1
  file:write(string.format("size %d %.2f %.2f\n", page, points(tex.pagewidth), points(tex.pageheight)))
  local inch = 4736286
  walkBox(box, inch + tex.hoffset, inch + tex.voffset + box.height)
  return true
end, "places of blocks")
luatexbase.add_to_callback("wrapup_run", function() file:close() end, "places of blocks")
