"""Common names of persons in English and Chinese, and names for pseudonyms of places.

Given names that are words or places, too, are left out (April, Grace, Austin), since
"Grace Period" is no person. GIVEN_NAMES[0]  ->  "Aaron"
"""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


GIVEN_NAMES = words_of("""
    Aaron Abigail Adam Adrian Agnes Alan Albert Alejandro Alex Alexander Alexandra Alfred Alice
    Alison Allison Amanda Amy Andrea Andrew Angela Anita Ann Anna Anne Annie Anthony Antonio
    Arnold Arthur Ashley Audrey Barbara Barry Beatrice Becky Benjamin Bernard Beth Betty Beverly
    Bob Bobby Bonnie Brad Bradley Brandon Brenda Brian Bruce Bryan Caitlin Caleb Calvin Cameron
    Carl Carla Carlos Carmen Carol Caroline Carolyn Catherine Cathy Cecilia Charles Charlie
    Cheryl Chris Christina Christine Christopher Cindy Claire Clara Clarence Claudia Clifford
    Connie Craig Curtis Cynthia Daniel Danielle Darren David Deborah Debra Denise Dennis Derek
    Diana Diane Dolores Donald Donna Doris Dorothy Douglas Duncan Dylan Edith Edward Edwin
    Eileen Elaine Eleanor Elena Elizabeth Ellen Elsie Emily Emma Eric Erica Erin Ernest Esther
    Ethan Ethel Eugene Eva Evan Evelyn Felicia Fiona Francisco Fred Frederick Gabriel Gareth
    Gary Geoffrey George Gerald Geraldine Gilbert Gloria Gordon Graham Greg Gregory Hannah
    Harold Harriet Harry Harvey Hector Helen Henry Herbert Howard Hugh Ian Irene Isaac Isabel
    Isabella Jacob Jacqueline James Jamie Jane Janet Janice Jared Jason Javier Jean Jeff Jeffrey
    Jennifer Jeremy Jerry Jesse Jessica Jill Jim Jimmy Joan Joanna Joanne Joe Joel John Johnny
    Jonathan Jorge Jose Joseph Joshua Joyce Juan Juanita Judith Judy Julia Julian Julie Justin
    Karen Karl Kate Katherine Kathleen Kathryn Kathy Katie Keith Kelly Ken Kenneth Kevin
    Kimberly Kristen Kristin Kyle Larry Laura Lauren Laurie Lawrence Leah Leonard Leslie Lewis
    Liam Linda Lisa Lois Lori Lorraine Louis Louise Lucas Lucy Luis Luke Malcolm Marcia Marcus
    Margaret Maria Marie Marilyn Mario Marion Marjorie Martha Martin Marvin Mary Matthew Maureen
    Megan Melanie Melissa Melvin Michael Michelle Miguel Mike Mildred Monica Nancy Natalie
    Natasha Nathan Neil Nicholas Nicole Nigel Nina Nora Norman Oliver Olivia Oscar Pamela
    Patricia Patrick Paul Paula Pauline Pedro Peggy Peter Philip Phillip Phyllis Priscilla
    Rachel Ralph Ramon Randall Randy Raymond Rebecca Regina Ricardo Richard Rita Robert Roberta
    Roberto Rodney Roger Ronald Rosemary Roy Russell Ruth Ryan Sally Samantha Samuel Sandra Sara
    Sarah Sean Shane Shannon Sharon Shawn Sheila Shirley Simon Sophia Sophie Stacy Stanley
    Stephanie Stephen Steve Steven Stuart Susan Suzanne Sylvia Tamara Tammy Tara Ted Teresa
    Terry Theodore Theresa Thomas Tiffany Tim Timothy Tina Todd Tom Tony Tracy Travis Trevor
    Tyler Valerie Vanessa Vera Vernon Veronica Vicki Victor Vincent Vivian Walter Wanda Warren
    Wayne Wendy Wesley William Yolanda Yvonne Zachary Zoe
""")
SURNAMES = words_of("""
    Adams Allen Anderson Bailey Baker Barnes Bell Bennett Brooks Brown Butler Campbell Carter
    Clark Coleman Collins Cook Cooper Cox Davis Edwards Evans Fisher Foster Gibson Graham Gray
    Griffin Hall Hamilton Harris Henderson Hughes Jenkins Johnson Jones Kelly Lewis Marshall
    Martin Mason Mitchell Moore Morgan Morris Murphy Nelson Owens Parker Patterson Perry
    Peterson Phillips Porter Powell Reed Reynolds Richards Roberts Robinson Rogers Russell
    Sanders Scott Simmons Smith Stewart Sullivan Taylor Thompson Turner Walker Watson Webb
""")
PLACES = words_of("""
    Ashford Birchwood Cedarville Eastbrook Fairmont Glenwood Hazelton Kingsley Lakeview
    Millbrook Northfield Oakdale Pinehurst Ridgeway Stonebridge Thornton Westbury Willowdale
""")
# The commonest come first.
CHINESE_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许邓韩冯曹彭曾肖田董潘袁蔡蒋余"
    "于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷"
    "龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向汤温康施牛樊葛邢安齐伍庞颜倪庄聂章鲁岳翟殷"
    "詹申欧耿关兰焦俞左柳甘祝包宁符阮尚舒纪柯梅童毕单裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳"
    "管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜"
    "冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘"
    "池查麻苑迟"
)
CHINESE_DOUBLE_SURNAMES = words_of("""
    欧阳 上官 司马 诸葛 东方 皇甫 尉迟 公孙 令狐 慕容 夏侯 端木
""")
CHINESE_GIVEN = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超霞平刚桂英华玉兰红建国志文斌辉鹏飞宇浩欣怡子涵雨晨佳琪"
)
CHINESE_PLACES = words_of(
    "东安 南平 西宁 北川 临河 清溪 长青 永和 新桥 石门 青松 白云 安宁 福田 高台 太平"
)
